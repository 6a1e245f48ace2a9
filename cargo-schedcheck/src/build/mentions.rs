//! What the sources of a crate mention, for what has to be known before the compiler reads them. A mention may be one too many:
//! in a comment, or in code that is configured away.

use camino::Utf8Path;
use std::fs;

/// Whether any source of the crate of a compiler call has the word.
pub fn anywhere(args: &[String], word: &str) -> bool {
    root(args).is_some_and(|root| has(root, word) || root.parent().is_some_and(|dir| is_below(dir, word)))
}

/// Whether the crate's root has the word.
pub fn in_root(args: &[String], word: &str) -> bool {
    root(args).is_some_and(|root| has(root, word))
}

fn root(args: &[String]) -> Option<&Utf8Path> {
    args.iter().map(Utf8Path::new).find(|arg| arg.extension() == Some("rs"))
}

fn has(file: &Utf8Path, word: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.contains(word))
}

fn is_below(folder: &Utf8Path, word: &str) -> bool {
    // Where a crate's root is no `src`, all sorts of things may lie beside it, which is why links are not followed.
    let Ok(entries) = folder.read_dir_utf8() else { return false };
    entries.flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => entry.file_name() != "target" && is_below(entry.path(), word),
        Ok(kind) => kind.is_file() && entry.path().extension() == Some("rs") && has(entry.path(), word),
        Err(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_in_any_file_of_a_crate_counts() {
        let folder = tempfile::tempdir().unwrap();
        let src = Utf8Path::from_path(folder.path()).unwrap().join("src");
        fs::create_dir_all(src.join("deep")).unwrap();
        fs::write(src.join("lib.rs"), "mod deep;\n").unwrap();
        let args = ["--crate-name".to_owned(), "a".to_owned(), src.join("lib.rs").into_string()];
        let word = "global_allocator";
        assert!(!anywhere(&args, word) && !anywhere(&args[..2], word));
        fs::write(src.join("deep/mod.rs"), "#[global_allocator]\nstatic A: B = B;\n").unwrap();
        assert!(anywhere(&args, word) && !in_root(&args, word));
    }
}

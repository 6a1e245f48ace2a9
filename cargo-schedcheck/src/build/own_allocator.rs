//! Crates that have a `#[global_allocator]`, told by their sources: the compiler needs to know before it reads them.

use camino::Utf8Path;
use std::fs;

const ATTRIBUTE: &str = "global_allocator";

/// Whether the crate of a compiler call mentions one. A mention too many does no harm.
pub fn is_in(args: &[String]) -> bool {
    let root = args.iter().map(Utf8Path::new).find(|arg| arg.extension() == Some("rs"));
    root.is_some_and(|root| mentions(root) || root.parent().is_some_and(is_below))
}

fn mentions(file: &Utf8Path) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.contains(ATTRIBUTE))
}

fn is_below(folder: &Utf8Path) -> bool {
    // Where a crate's root is no `src`, all sorts of things may lie beside it, which is why links are not followed.
    let Ok(entries) = folder.read_dir_utf8() else { return false };
    entries.flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => entry.file_name() != "target" && is_below(entry.path()),
        Ok(kind) => kind.is_file() && entry.path().extension() == Some("rs") && mentions(entry.path()),
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
        assert!(!is_in(&args) && !is_in(&args[..2]));
        fs::write(src.join("deep/mod.rs"), "#[global_allocator]\nstatic A: B = B;\n").unwrap();
        assert!(is_in(&args));
    }
}

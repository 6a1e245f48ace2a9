//! Which files rustc read for a crate: the `.d` file that it leaves beside its product.
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;

/// The files that went into a product of rustc, relative ones as seen from one of `dirs`. Nothing where rustc left no
/// note; what it made itself (`OUT_DIR`) is below `target` and left out.
pub fn files_read(product: &Utf8Path, dirs: &[&Utf8Path], target: &Utf8Path) -> Vec<Utf8PathBuf> {
    let notes = beside(product).into_iter().find_map(|path| fs::read_to_string(path).ok());
    let found = |name: String| dirs.iter().map(|dir| dir.join(&name)).find(|path| path.is_file());
    let names = notes.as_deref().map(prerequisites).unwrap_or_default();
    names.into_iter().filter_map(found).filter(|path| !path.starts_with(target)).collect()
}

/// Where its notes may be: `libbank-0a1b.rmeta` has `bank-0a1b.d`, a program `bank-0a1b` too.
fn beside(product: &Utf8Path) -> Vec<Utf8PathBuf> {
    let notes = product.with_extension("d");
    let name = notes.file_name().unwrap_or_default();
    let library = name.strip_prefix("lib").map(|name| notes.with_file_name(name));
    [notes.clone()].into_iter().chain(library).collect()
}

/// The words behind `target:` in a file for make; blanks in names are escaped.
fn prerequisites(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((_, list)) = line.split_once(": ") else { continue };
        let mut name = String::new();
        let mut characters = list.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' => name.extend(characters.next()),
                ' ' => names.push(std::mem::take(&mut name)),
                other => name.push(other),
            }
        }
        names.push(name);
    }
    names.retain(|name| !name.is_empty());
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_rustc_writes_them() {
        let text = "/t/deps/bank-1.d: src/lib.rs src/my\\ file.txt\n\n/t/deps/libbank-1.rmeta: src/lib.rs /etc/motd \n\n\
                    src/lib.rs:\n# env-dep:CARGO_PKG_NAME=bank: x\n";
        assert_eq!(prerequisites(text), ["/etc/motd", "src/lib.rs", "src/my file.txt"]);
    }

    #[test]
    fn libraries_and_programs_have_their_notes_beside_them() {
        let notes =
            |path: &str| beside(Utf8Path::new(path)).into_iter().map(String::from).collect::<Vec<_>>();
        assert_eq!(notes("d/libbank-1.rmeta"), ["d/libbank-1.d", "d/bank-1.d"]);
        assert_eq!(notes("d/bank-1"), ["d/bank-1.d"]);
    }
}

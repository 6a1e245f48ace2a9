//! Which files rustc read for a crate: the `.d` file that it leaves beside its product.
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;

/// The files that went into a product of rustc, relative ones as seen from one of `dirs`. Nothing where rustc left no
/// note; what it made itself (`OUT_DIR`) is below `target` and left out.
pub fn files_read(product: &Utf8Path, dirs: &[&Utf8Path], target: &Utf8Path) -> Vec<Utf8PathBuf> {
    let read =
        |product: &Utf8Path| beside(product).into_iter().find_map(|path| fs::read_to_string(path).ok());
    let notes = read(product).or_else(|| read(&twin(product)?));
    let found = |name: String| dirs.iter().map(|dir| dir.join(&name)).find(|path| path.is_file());
    let names = notes.as_deref().map(prerequisites).unwrap_or_default();
    names.into_iter().filter_map(found).filter(|path| !path.starts_with(target)).collect()
}

/// Where its notes may be: `libbank-0a1b.rmeta` has `bank-0a1b.d`, a program `bank-0a1b` too. A build script was
/// renamed: `build/bank-0a1b/build-script-build` has `build_script_build-0a1b.d`.
fn beside(product: &Utf8Path) -> Vec<Utf8PathBuf> {
    let notes = product.with_extension("d");
    let name = notes.file_name().unwrap_or_default();
    let library = name.strip_prefix("lib").map(|name| notes.with_file_name(name));
    let hash = product.parent().and_then(Utf8Path::file_name).and_then(|dir| dir.rsplit('-').next());
    let script = product.file_name().filter(|name| name.starts_with("build-script-")).zip(hash);
    let script =
        script.map(|(name, hash)| notes.with_file_name(format!("{}-{hash}.d", name.replace('-', "_"))));
    [notes.clone()].into_iter().chain(library).chain(script).collect()
}

/// What cargo has linked under a plain name: `debug/bank` is `debug/deps/bank-0a1b`.
fn twin(product: &Utf8Path) -> Option<Utf8PathBuf> {
    let identity = |path: &Utf8Path| {
        let metadata = fs::metadata(path).ok()?;
        Some((metadata.len(), metadata.modified().ok()?))
    };
    let own = identity(product)?;
    let start = format!("{}_", product.file_stem()?.replace('-', "_"));
    let dir = product.parent()?;
    let entries = [dir.join("deps"), dir.to_owned()].into_iter().filter_map(|dir| dir.read_dir_utf8().ok());
    let mut twins = entries.flatten().flatten().filter(|entry| {
        let same_kind = entry.path().extension() == product.extension();
        same_kind && entry.file_name().replace('-', "_").starts_with(&start)
    });
    twins.find(|entry| identity(entry.path()) == Some(own)).map(camino::Utf8DirEntry::into_path)
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
    fn a_program_under_its_plain_name_has_the_notes_of_its_twin() {
        let dir = tempfile::tempdir().unwrap();
        let target = Utf8Path::from_path(dir.path()).unwrap().join("target");
        fs::create_dir_all(target.join("deps")).unwrap();
        for (hash, text) in [("1", "older"), ("2", "current")] {
            fs::write(target.join(format!("deps/my_bank-{hash}")), text).unwrap();
            fs::write(target.join(format!("deps/my_bank-{hash}.d")), format!("x: src/{text}.rs\n")).unwrap();
            fs::create_dir_all(target.with_file_name("src")).unwrap();
            fs::write(target.with_file_name("src").join(format!("{text}.rs")), "").unwrap();
        }
        fs::hard_link(target.join("deps/my_bank-2"), target.join("my-bank")).unwrap();
        let root = target.parent().unwrap();
        assert_eq!(files_read(&target.join("my-bank"), &[root], &target), [root.join("src/current.rs")]);
    }

    #[test]
    fn libraries_and_programs_have_their_notes_beside_them() {
        let notes =
            |path: &str| beside(Utf8Path::new(path)).into_iter().map(String::from).collect::<Vec<_>>();
        assert_eq!(notes("d/libbank-1.rmeta"), ["d/libbank-1.d", "d/bank-1.d"]);
        assert_eq!(notes("d/bank-1"), ["d/bank-1.d"]);
        let script = notes("build/my-bank-1a/build-script-build");
        assert_eq!(script[1], "build/my-bank-1a/build_script_build-1a.d");
    }
}

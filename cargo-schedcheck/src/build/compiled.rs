//! Which contents the products in a build directory were compiled from.
//!
//! Cargo takes a product for fresh when no source is newer. Sources that come with old times (out of an image, a cache,
//! another branch on a shared disk) are then never compiled, and what is tested is something else than what lies there.
//! For a certificate that is not good enough. So this command notes, whenever cargo compiles something, the contents of
//! the files that rustc read for it; a fresh product is trusted only if that note fits its sources now. The note also
//! knows the product by its time, since others may build in the same directory.
use std::collections::BTreeMap;
use std::time::SystemTime;

use camino::Utf8PathBuf;
use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::{dep_info, fingerprint};
use crate::error::Result;
use crate::whole_file;

/// The file with all notes, in the build directory.
const NOTES: &str = "compiled.json";

/// What cargo made of a package that has its sources here.
#[derive(Clone, Debug)]
pub struct Product {
    /// The folder of its package.
    pub package_dir: Utf8PathBuf,
    /// Its files.
    pub files: Vec<Utf8PathBuf>,
    /// It was there before.
    pub fresh: bool,
}

/// All notes, by product.
type Notes = BTreeMap<Utf8PathBuf, Note>;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    /// When the product was made.
    made: SystemTime,
    /// What was read for it.
    read: BTreeMap<Utf8PathBuf, String>,
}

/// The products of a build, in the directory `target` for the workspace at `root`.
#[derive(Debug)]
pub struct Compiled {
    pub root: Utf8PathBuf,
    pub target: Utf8PathBuf,
    pub products: Vec<Product>,
    /// When the build began.
    pub started: SystemTime,
}

impl Compiled {
    /// Writes down what was compiled in this build.
    pub fn note(&self) -> Result<()> {
        if self.products.iter().all(|product| product.fresh) {
            return Ok(());
        }
        let mut notes = self.load();
        notes.retain(|product, _| product.is_file());
        for product in self.products.iter().filter(|product| !product.fresh) {
            let Some(file) = product.files.first() else { continue };
            match self.look_at(product)? {
                Some(note) => notes.insert(file.clone(), note),
                None => notes.remove(file),
            };
        }
        let text = serde_json::to_vec(&notes).map_err(std::io::Error::from)?;
        Ok(whole_file::write(&self.target.join(NOTES), |file| file.write_all(&text))?)
    }

    /// Why it is not certain that the products were compiled from what their sources are now.
    pub fn doubt(&self) -> Result<Option<String>> {
        let notes = self.load();
        for product in &self.products {
            let Some(file) = product.files.first() else { continue };
            let name = file.file_name().unwrap_or_default();
            let Some(note) = notes.get(file) else {
                return Ok(Some(format!("it is not known what {name} was compiled from: {REMEDY}")));
            };
            if note.made != fs::metadata(file)?.modified()? {
                return Ok(Some(format!("{name} was compiled by somebody else: {REMEDY}")));
            }
            for (path, print) in &note.read {
                if !path.is_file() || fingerprint::of_file(path)? != *print {
                    let path = super::sources::relative(&self.root, path);
                    return Ok(Some(format!(
                        "{path} is not what was compiled, although it is older than the product: {REMEDY}"
                    )));
                }
            }
        }
        Ok(None)
    }

    /// Every file that rustc read.
    pub fn files_read(&self) -> Vec<Utf8PathBuf> {
        let mut files: Vec<_> = self.products.iter().flat_map(|product| self.read_for(product)).collect();
        files.sort();
        files.dedup();
        files
    }

    fn read_for(&self, product: &Product) -> Vec<Utf8PathBuf> {
        let dirs = [&*self.root, &*product.package_dir];
        let mut files = product.files.iter().map(|file| dep_info::files_read(file, &dirs, &self.target));
        files.find(|files| !files.is_empty()).unwrap_or_default()
    }

    /// The note on a product; none if rustc left no word, or if a file was changed meanwhile.
    fn look_at(&self, product: &Product) -> Result<Option<Note>> {
        let mut read = BTreeMap::new();
        for path in self.read_for(product) {
            if fs::metadata(&path)?.modified()? >= self.started {
                return Ok(None);
            }
            read.insert(path.clone(), fingerprint::of_file(&path)?);
        }
        let Some(file) = product.files.first().filter(|_| !read.is_empty()) else { return Ok(None) };
        Ok(Some(Note { made: fs::metadata(file)?.modified()?, read }))
    }

    /// What was noted before; a damaged file knows nothing.
    fn load(&self) -> Notes {
        let text = fs::read(self.target.join(NOTES)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }
}

const REMEDY: &str = "remove the target directory, or `cargo schedcheck clean`, and run again";

#[cfg(test)]
mod tests {
    use super::*;
    use camino::Utf8Path;
    use std::time::Duration;

    struct Build(tempfile::TempDir);

    impl Build {
        fn new() -> Self {
            let build = Self(tempfile::tempdir().unwrap());
            build.write("src/lib.rs", "fn a() {}");
            build.write("target/deps/bank-1", "compiled");
            build.write("target/deps/bank-1.d", "target/deps/bank-1.d: src/lib.rs\n");
            build
        }

        fn path(&self, path: &str) -> Utf8PathBuf {
            Utf8Path::from_path(self.0.path()).unwrap().join(path)
        }

        /// Writes a file that looks an hour old.
        fn write(&self, path: &str, text: &str) {
            fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
            fs::write(self.path(path), text).unwrap();
            let file = std::fs::File::options().write(true).open(self.path(path)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000)).unwrap();
        }

        fn compiled(&self, fresh: bool) -> Compiled {
            let product =
                Product { package_dir: self.path(""), files: vec![self.path("target/deps/bank-1")], fresh };
            Compiled {
                root: self.path(""),
                target: self.path("target"),
                products: vec![product],
                started: SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000),
            }
        }

        fn doubt(&self) -> String {
            self.compiled(true).doubt().unwrap().unwrap_or_default()
        }
    }

    #[test]
    fn what_was_compiled_under_our_eyes_is_certain_until_it_changes() {
        let build = Build::new();
        assert!(build.doubt().starts_with("it is not known what bank-1 was compiled from"));
        build.compiled(true).note().unwrap();
        assert_ne!(build.doubt(), "", "a fresh product proves nothing");
        build.compiled(false).note().unwrap();
        assert_eq!(build.doubt(), "");
        build.write("src/lib.rs", "fn b() {}");
        assert!(build.doubt().starts_with("src/lib.rs is not what was compiled"), "{}", build.doubt());
        build.write("src/lib.rs", "fn a() {}");
        assert_eq!(build.doubt(), "");
    }

    #[test]
    fn what_others_compile_in_the_same_place_is_not() {
        let build = Build::new();
        build.compiled(false).note().unwrap();
        fs::write(build.path("target/deps/bank-1"), "compiled by somebody else").unwrap();
        assert!(build.doubt().starts_with("bank-1 was compiled by somebody else"));
    }

    #[test]
    fn what_changes_while_it_is_compiled_is_not() {
        let build = Build::new();
        build.compiled(false).note().unwrap();
        // As a build that took place while the file was written.
        fs::write(build.path("src/lib.rs"), "fn a() {}").unwrap();
        build.compiled(false).note().unwrap();
        assert!(build.doubt().starts_with("it is not known"), "{}", build.doubt());
    }

    #[test]
    fn damaged_notes_know_nothing() {
        let build = Build::new();
        build.compiled(false).note().unwrap();
        build.write("target/compiled.json", "{\"");
        assert_ne!(build.doubt(), "");
    }
}

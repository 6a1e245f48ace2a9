//! Folders that can be made again: only those that were used last are kept.
use camino::Utf8Path;
use fs_err as fs;

/// The time of this file in a folder is that of its last use.
const MARK: &str = ".last-used";

/// The folder is used now.
pub fn mark(folder: &Utf8Path) -> std::io::Result<()> {
    fs::write(folder.join(MARK), "")
}

/// Removes all folders of `all` but the current one and the `kept` others that were used last. Hidden ones are somebody's
/// work in progress. Nothing depends on its success.
pub fn remove_others(all: &Utf8Path, current: &Utf8Path, kept: usize) {
    let Ok(entries) = all.read_dir_utf8() else { return };
    let mut others: Vec<_> = entries
        .flatten()
        .filter(|entry| entry.path() != current && !entry.file_name().starts_with('.'))
        .map(|entry| {
            (fs::metadata(entry.path().join(MARK)).and_then(|m| m.modified()).ok(), entry.into_path())
        })
        .collect();
    others.sort_by(|a, b| b.cmp(a));
    for (_, path) in others.into_iter().skip(kept) {
        let _ = fs::remove_dir_all(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn the_current_folder_and_those_used_last_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let all = Utf8Path::from_path(dir.path()).unwrap();
        for (age, name) in ["current", "newest", "older", "oldest", ".unpacking"].iter().enumerate() {
            let folder = all.join(name);
            fs::create_dir(&folder).unwrap();
            mark(&folder).unwrap();
            let file = std::fs::File::options().write(true).open(folder.join(MARK)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(60 * age as u64)).unwrap();
        }
        fs::create_dir(all.join("unmarked")).unwrap();
        remove_others(all, &all.join("current"), 2);
        let mut left: Vec<_> =
            all.read_dir_utf8().unwrap().map(|entry| entry.unwrap().file_name().to_owned()).collect();
        left.sort();
        assert_eq!(left, [".unpacking", "current", "newest", "older"]);
    }
}

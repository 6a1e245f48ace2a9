//! Folders that can be made again: only those that were used last are kept.
use std::time::{Duration, SystemTime};

use camino::{Utf8DirEntry, Utf8Path};
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
    let mut others: Vec<_> = finished(all)
        .filter(|entry| entry.path() != current)
        .map(|entry| (last_use(entry.path()).ok(), entry.into_path()))
        .collect();
    others.sort_by(|a, b| b.cmp(a));
    for (_, path) in others.into_iter().skip(kept) {
        let _ = fs::remove_dir_all(path);
    }
}

/// Removes all folders of `all` that nobody has used for so long. Those without a mark were made by versions that did not set
/// it: their age counts.
pub fn remove_unused_for(all: &Utf8Path, long: Duration) {
    for entry in finished(all) {
        let used = last_use(entry.path()).or_else(|_| entry.metadata().and_then(|folder| folder.modified()));
        let is_old = |used| SystemTime::now().duration_since(used).is_ok_and(|age| age > long);
        if used.is_ok_and(is_old) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// All folders in a folder but those in which somebody still works.
fn finished(all: &Utf8Path) -> impl Iterator<Item = Utf8DirEntry> {
    let is_finished = |entry: &Utf8DirEntry| {
        entry.file_type().is_ok_and(|file| file.is_dir()) && !entry.file_name().starts_with('.')
    };
    all.read_dir_utf8().into_iter().flatten().flatten().filter(is_finished)
}

fn last_use(folder: &Utf8Path) -> std::io::Result<SystemTime> {
    fs::metadata(folder.join(MARK))?.modified()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Folders, each used a minute earlier than the one before it, one without a mark, and a file.
    fn folders(all: &Utf8Path) {
        for (age, name) in ["current", "newest", "older", "oldest", ".unpacking"].iter().enumerate() {
            let folder = all.join(name);
            fs::create_dir(&folder).unwrap();
            mark(&folder).unwrap();
            let file = std::fs::File::options().write(true).open(folder.join(MARK)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(60 * age as u64)).unwrap();
        }
        fs::create_dir(all.join("unmarked")).unwrap();
        fs::write(all.join("lock"), "").unwrap();
    }

    fn names(all: &Utf8Path) -> Vec<String> {
        let mut names: Vec<_> =
            all.read_dir_utf8().unwrap().map(|entry| entry.unwrap().file_name().to_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_current_folder_and_those_used_last_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let all = Utf8Path::from_path(dir.path()).unwrap();
        folders(all);
        remove_others(all, &all.join("current"), 2);
        assert_eq!(names(all), [".unpacking", "current", "lock", "newest", "older"]);
    }

    #[test]
    fn folders_that_nobody_has_used_for_long_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let all = Utf8Path::from_path(dir.path()).unwrap();
        folders(all);
        remove_unused_for(all, Duration::from_secs(90));
        assert_eq!(names(all), [".unpacking", "current", "lock", "newest", "unmarked"]);
    }
}

//! Places of a recorded schedule, found again in sources that were edited since.
//!
//! A schedule names places by line and column, and a line that is added anywhere above moves them. So the file also
//! keeps the text of those lines, and a place moves to where its text stands now.
use std::collections::BTreeMap;

use camino::Utf8PathBuf;

use crate::reports::sources;
use crate::run::wire::Schedule;

/// Where in which file: `file:line:column`.
struct Place<'a> {
    file: &'a str,
    line: usize,
    column: usize,
}

impl<'a> Place<'a> {
    fn parse(site: &'a str) -> Option<Self> {
        let mut parts = site.rsplitn(3, ':');
        let column = parts.next()?.parse().ok()?;
        let line = parts.next()?.parse().ok()?;
        Some(Self { file: parts.next()?, line, column })
    }

    fn key(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// The lines that a schedule points at, by `file:line`.
pub fn lines(schedule: &Schedule, dirs: &[Utf8PathBuf]) -> BTreeMap<String, String> {
    let mut lines = BTreeMap::new();
    for place in sites(schedule).filter_map(|site| Place::parse(site)) {
        let text = sources::read(dirs, place.file);
        let line = text.as_deref().and_then(|text| text.lines().nth(place.line.checked_sub(1)?));
        if let Some(line) = line {
            lines.insert(place.key(), line.to_owned());
        }
    }
    lines
}

fn sites(schedule: &Schedule) -> impl Iterator<Item = &String> {
    schedule.deltas.iter().flat_map(|delta| {
        std::iter::once(&delta.site).chain(delta.instead.iter().map(|instead| &instead.site))
    })
}

/// The schedule with its places where their lines stand now; places without a known line stay as they are.
pub fn moved(mut schedule: Schedule, dirs: &[Utf8PathBuf]) -> Schedule {
    let moves = moves(&schedule.lines, dirs);
    let follow = |site: &mut String| {
        let Some(place) = Place::parse(site) else { return };
        if let Some((line, shift)) = moves.get(&place.key()) {
            let column = place.column.saturating_add_signed(*shift);
            *site = format!("{}:{line}:{column}", place.file);
        }
    };
    for delta in &mut schedule.deltas {
        follow(&mut delta.site);
        if let Some(instead) = &mut delta.instead {
            follow(&mut instead.site);
        }
    }
    schedule
}

/// For each recorded line: its number now, and how far its text moved to the right.
fn moves(lines: &BTreeMap<String, String>, dirs: &[Utf8PathBuf]) -> BTreeMap<String, (usize, isize)> {
    let mut files: BTreeMap<&str, Vec<(usize, &str)>> = BTreeMap::new();
    for (key, text) in lines {
        if let Some((file, line)) = key.rsplit_once(':')
            && let Ok(line) = line.parse::<u32>()
        {
            files.entry(file).or_default().push((line as usize, text));
        }
    }
    let mut moves = BTreeMap::new();
    for (file, recorded) in files {
        let Some(now) = sources::read(dirs, file) else { continue };
        let now: Vec<&str> = now.lines().collect();
        let shift = common_shift(&recorded, &now);
        for (line, text) in recorded {
            let wanted = line.saturating_add_signed(shift);
            let places = now.iter().enumerate().filter(|(_, other)| other.trim() == text.trim());
            let nearest = places.map(|(at, other)| (at + 1, other)).min_by_key(|(at, _)| at.abs_diff(wanted));
            if let Some((at, other)) = nearest {
                moves.insert(format!("{file}:{line}"), (at, indentation(other) - indentation(text)));
            }
        }
    }
    moves
}

/// By how many lines most of the recorded lines have moved, the least move first.
fn common_shift(recorded: &[(usize, &str)], now: &[&str]) -> isize {
    let mut votes: BTreeMap<isize, usize> = BTreeMap::new();
    for (line, text) in recorded {
        for (at, _) in now.iter().enumerate().filter(|(_, other)| other.trim() == text.trim()) {
            *votes.entry(at as isize + 1 - *line as isize).or_default() += 1;
        }
    }
    let best = votes.into_iter().max_by_key(|(shift, count)| (*count, std::cmp::Reverse(shift.abs())));
    best.map_or(0, |(shift, _)| shift)
}

fn indentation(line: &str) -> isize {
    line.chars().take_while(|character| character.is_whitespace()).count() as isize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::wire::{Delta, Point};

    fn schedule(sites: &[&str]) -> Schedule {
        let point = |site: &str| Point { thread: "0".into(), op: "lock".into(), site: site.into(), nth: 1 };
        let delta = |site: &&str| Delta {
            step: 1,
            thread: "0".into(),
            alt: "0".into(),
            op: "lock".into(),
            site: (*site).into(),
            nth: 1,
            instead: Some(point(site)),
        };
        Schedule { deltas: sites.iter().map(delta).collect(), ..Schedule::default() }
    }

    /// The places of `sites` after an edit.
    fn after(before: &str, edited: &str, sites: &[&str]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let dirs = [Utf8PathBuf::from_path_buf(dir.path().to_owned()).unwrap()];
        fs_err::write(dirs[0].join("a.rs"), before).unwrap();
        let mut schedule = schedule(sites);
        schedule.lines = lines(&schedule, &dirs);
        fs_err::write(dirs[0].join("a.rs"), edited).unwrap();
        let moved = moved(schedule, &dirs);
        assert!(moved.deltas.iter().all(|delta| delta.instead.as_ref().unwrap().site == delta.site));
        moved.deltas.into_iter().map(|delta| delta.site).collect()
    }

    #[test]
    fn places_follow_their_lines() {
        assert_eq!(after("a();\nb();\n", "new\n\na();\nb();\n", &["a.rs:2:1"]), ["a.rs:4:1"]);
        assert_eq!(after("a();\nb();\n", "a();\n    b();\n", &["a.rs:2:3"]), ["a.rs:2:7"]);
        assert_eq!(after("  x\n", "x\n", &["a.rs:1:3"]), ["a.rs:1:1"]);
    }

    #[test]
    fn of_equal_lines_those_are_meant_that_moved_like_the_rest() {
        let before = "lock\nuse\nlock\nend\n";
        let edited = "lock\n0\n0\nlock\nuse\nlock\nend\n";
        assert_eq!(
            after(before, edited, &["a.rs:1:1", "a.rs:3:1", "a.rs:4:1"]),
            ["a.rs:4:1", "a.rs:6:1", "a.rs:7:1"]
        );
    }

    #[test]
    fn lines_with_numbers_that_no_file_has_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let dirs = [Utf8PathBuf::from_path_buf(dir.path().to_owned()).unwrap()];
        fs_err::write(dirs[0].join("a.rs"), "a();\n").unwrap();
        let site = format!("a.rs:{}:1", 1_u64 << 63);
        let mut schedule = schedule(&[&site]);
        schedule.lines.insert(format!("a.rs:{}", 1_u64 << 63), "a();".to_owned());
        assert_eq!(moved(schedule, &dirs).deltas[0].site, site);
    }

    #[test]
    fn a_line_that_is_gone_stays_where_it_was() {
        assert_eq!(after("a\nb\n", "a\nc\n", &["a.rs:2:1"]), ["a.rs:2:1"]);
        assert_eq!(after("a\n", "a\n", &["else.rs:9:1", "nonsense"]), ["else.rs:9:1", "nonsense"]);
    }
}

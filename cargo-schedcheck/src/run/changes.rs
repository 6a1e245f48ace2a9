//! Which lines were changed: `--changed-since REV` asks git, `--in-diff FILE` reads a unified diff.
//!
//! The engine compares with the paths that the compiler was given, which are relative to the root of the workspace.
use std::iter::Enumerate;
use std::process::Command;
use std::str::Lines;

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;

use crate::cli::ExploreOpts;
use crate::error::{ExpectedError, Result};

/// Lines of the new version of a file that a diff adds or that stand where it removes some.
#[derive(Debug, PartialEq, Eq)]
struct Range {
    file: Utf8PathBuf,
    first: u32,
    last: u32,
}

/// The changed lines that the user asked for, as the engine wants them: `src/lib.rs:10-12`.
pub fn lines(root: &Utf8Path, opts: &ExploreOpts) -> Result<Vec<String>> {
    let (diff, bases) = match (&opts.changed_since, &opts.in_diff) {
        (Some(revision), _) => {
            let top = top_level(root).ok_or_else(|| {
                ExpectedError::Usage(format!("--changed-since needs a git repository, and {root} is in none"))
            })?;
            (diff_since(root, revision)?, vec![top])
        }
        (None, Some(file)) => {
            let text =
                fs::read_to_string(file).map_err(|error| ExpectedError::BadSetup(error.to_string()))?;
            let bases = top_level(root).into_iter().chain([root.to_owned(), Utf8PathBuf::new()]);
            (parse(&text, file.as_str())?, bases.collect())
        }
        (None, None) => return Ok(Vec::new()),
    };
    let named = |range: Range| {
        let file = as_compiled(&range.file, &bases, root);
        format!("{file}:{}-{}", range.first, range.last)
    };
    // Commas separate what the engine is told, and no compiler is given such files.
    Ok(diff.into_iter().filter(|range| !range.file.as_str().contains(',')).map(named).collect())
}

/// The path of a file of a diff as the compiler knows it.
fn as_compiled(file: &Utf8Path, bases: &[Utf8PathBuf], root: &Utf8Path) -> Utf8PathBuf {
    let whole = bases.iter().map(|base| base.join(file)).find(|path| path.is_file());
    let whole = whole.and_then(|path| path.canonicalize_utf8().ok()).unwrap_or_else(|| file.to_owned());
    let root = root.canonicalize_utf8().unwrap_or_else(|_| root.to_owned());
    whole.strip_prefix(root).map(Utf8Path::to_owned).unwrap_or(whole)
}

fn git(root: &Utf8Path, args: &[&str]) -> Result<std::process::Output> {
    let mut command = Command::new("git");
    command.arg("-C").arg(root).args(args);
    command.output().map_err(|source| ExpectedError::Start { program: "git".to_owned(), source })
}

/// The root of the repository.
fn top_level(root: &Utf8Path) -> Option<Utf8PathBuf> {
    let output =
        git(root, &["rev-parse", "--show-toplevel"]).ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim_end_matches(['\n', '\r']).into())
}

fn diff_since(root: &Utf8Path, revision: &str) -> Result<Vec<Range>> {
    let commit = format!("{revision}^{{commit}}");
    let known = !revision.starts_with('-')
        && git(root, &["rev-parse", "--verify", "--quiet", &commit])?.status.success();
    if !known {
        return Err(ExpectedError::Usage(format!(
            "--changed-since: git knows no revision `{revision}` in {root}"
        )));
    }
    let shape = ["diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-renames"];
    let prefixes = ["--src-prefix=a/", "--dst-prefix=b/", revision, "--"];
    let output = git(root, &[&shape[..], &prefixes[..]].concat())?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(ExpectedError::Unreadable { program: "git diff".to_owned(), reason });
    }
    parse(&String::from_utf8_lossy(&output.stdout), "git diff")
}

/// Reads a unified diff; `origin` is what an error calls it.
fn parse(text: &str, origin: &str) -> Result<Vec<Range>> {
    let malformed =
        |line: usize, what: &str| ExpectedError::BadSetup(format!("{origin}:{}: {what}", line + 1));
    let mut ranges = Vec::new();
    let mut file: Option<Utf8PathBuf> = None;
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if let Some(path) = line.strip_prefix("+++ ") {
            file = Some(new_path(path));
        } else if line.starts_with("@@") {
            let file =
                file.as_ref().ok_or_else(|| malformed(number, "a hunk before the `+++` line of its file"))?;
            let (old, (start, new)) = header(line)
                .ok_or_else(|| malformed(number, "a hunk should begin like `@@ -1,2 +3,4 @@`"))?;
            let body = Body { old, new, at: start };
            let gone = file == "/dev/null";
            ranges.extend(
                body.read(&mut lines)
                    .map_err(|what| malformed(number, what))?
                    .into_iter()
                    .filter(|_| !gone)
                    .map(|(first, last)| Range { file: file.clone(), first, last }),
            );
        }
    }
    if ranges.is_empty() && file.is_none() && !text.trim().is_empty() {
        return Err(malformed(0, "this is no unified diff: it names no file with `+++`"));
    }
    Ok(ranges)
}

/// The path of the new version, without the prefix of git and the time stamp of diff.
fn new_path(text: &str) -> Utf8PathBuf {
    let plain = || text.split('\t').next().unwrap_or_default().trim_end().to_owned();
    let path = unquoted(text).unwrap_or_else(plain);
    path.strip_prefix("b/").unwrap_or(&path).into()
}

/// A name that git has put in quotes, as a string of C: it does so with everything that is not ASCII.
fn unquoted(text: &str) -> Option<String> {
    let mut name = Vec::new();
    let mut bytes = text.strip_prefix('"')?.bytes();
    loop {
        let byte = match bytes.next()? {
            b'"' => return String::from_utf8(name).ok(),
            b'\\' => match bytes.next()? {
                first @ b'0'..=b'3' => {
                    let mut digit = || bytes.next().filter(|byte| matches!(byte, b'0'..=b'7'));
                    (first - b'0') * 64 + (digit()? - b'0') * 8 + (digit()? - b'0')
                }
                b'a' => 7,
                b'b' => 8,
                b't' => b'\t',
                b'n' => b'\n',
                b'v' => 11,
                b'f' => 12,
                b'r' => b'\r',
                other => other,
            },
            byte => byte,
        };
        name.push(byte);
    }
}

/// The counts of `@@ -a,b +c,d @@`: `b`, `c` and `d`.
fn header(line: &str) -> Option<(u32, (u32, u32))> {
    let mut parts = line.strip_prefix("@@ -")?.split(' ');
    let range = |text: &str| match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse::<u32>().ok()?, 1_u32)),
    };
    let (_, old) = range(parts.next()?)?;
    let (start, new): (u32, u32) = range(parts.next()?.strip_prefix('+')?)?;
    // No file has so many lines, and those behind its last one are counted too.
    start.checked_add(new)?.checked_add(2)?;
    (parts.next()? == "@@").then_some((old, (start, new)))
}

/// What is left of a hunk.
struct Body {
    old: u32,
    new: u32,
    /// The line of the new version that comes next.
    at: u32,
}

impl Body {
    fn read(mut self, lines: &mut Enumerate<Lines<'_>>) -> Result<Vec<(u32, u32)>, &'static str> {
        let mut found: Vec<(u32, u32)> = Vec::new();
        if self.new == 0 {
            // Such a hunk names the line before.
            self.at += 1;
        }
        while self.old > 0 || self.new > 0 {
            let (_, line) = lines.next().ok_or("the diff ends within this hunk")?;
            let cut = "this hunk has other lines than its first line says";
            match line.bytes().next() {
                Some(b'+') => {
                    self.new = self.new.checked_sub(1).ok_or(cut)?;
                    found.push((self.at, self.at));
                    self.at += 1;
                }
                Some(b'-') => {
                    self.old = self.old.checked_sub(1).ok_or(cut)?;
                    // The lines around the gap.
                    found.push((self.at.saturating_sub(1).max(1), self.at));
                }
                Some(b' ') | None => {
                    (self.old, self.new) =
                        (self.old.checked_sub(1).ok_or(cut)?, self.new.checked_sub(1).ok_or(cut)?);
                    self.at += 1;
                }
                Some(b'\\') => {}
                Some(_) => return Err(cut),
            }
        }
        Ok(merged(found))
    }
}

/// Ranges that touch as one.
fn merged(ranges: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    let mut merged: Vec<(u32, u32)> = Vec::new();
    for (first, last) in ranges {
        match merged.last_mut() {
            Some(before) if first <= before.1 + 1 => before.1 = before.1.max(last),
            _ => merged.push((first, last)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n\
        @@ -2,3 +2,4 @@ fn f() {\n one\n-two\n+zwei\n+drei\n four\n\
        @@ -20,2 +21,0 @@\n-gone\n-too\n\
        --- a/old.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
        --- a/n.rs\t2026-01-01\n+++ b/n.rs\t2026-01-02\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n";

    #[test]
    fn what_the_engine_cannot_be_told_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(dir.path()).unwrap();
        let diff = root.join("changes.diff");
        let of = |file: &str| format!("--- a/{file}\n+++ b/{file}\n@@ -0,0 +1 @@\n+new\n");
        fs::write(&diff, of("docs/one, two.md") + &of("src/lib.rs")).unwrap();
        let opts = ExploreOpts { in_diff: Some(diff), ..ExploreOpts::default() };
        assert_eq!(lines(root, &opts).unwrap(), ["src/lib.rs:1-1"]);
    }

    #[test]
    fn lines_are_those_of_the_new_version() {
        let found = parse(DIFF, "d").unwrap();
        let found: Vec<_> = found.iter().map(|r| (r.file.as_str(), r.first, r.last)).collect();
        assert_eq!(found, [("src/a.rs", 2, 4), ("src/a.rs", 21, 22), ("n.rs", 1, 2)]);
    }

    #[test]
    fn names_that_git_quotes_are_those_of_the_files() {
        let path = |text: &str| new_path(text).into_string();
        assert_eq!(path("b/src/a.rs\t2026-01-02"), "src/a.rs");
        assert_eq!(path(r#""b/src/gr\303\266\303\237e.rs""#), "src/größe.rs");
        assert_eq!(path(r#""b/a\tb \"c\" \\d.rs""#), "a\tb \"c\" \\d.rs");
        assert_eq!(path("/dev/null"), "/dev/null");
    }

    #[test]
    fn what_is_no_diff_is_refused_with_its_line() {
        for (text, part) in [
            ("hello\n", "d:1: this is no unified diff"),
            ("@@ -1 +1 @@\n", "d:1: a hunk before"),
            ("--- a/x\n+++ b/x\n@@ -1,1 1,1 @@\n", "d:3: a hunk should begin"),
            ("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n", "d:3: the diff ends"),
            ("--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n+a\n+b\n", "d:3: this hunk has other lines"),
            ("--- a/x\n+++ b/x\n@@ -0,0 +4294967295,2 @@\n+a\n+b\n", "d:3: a hunk should begin"),
            ("--- a/x\n+++ b/x\n@@ -1 +4294967295,0 @@\n-a\n", "d:3: a hunk should begin"),
        ] {
            let error = parse(text, "d").unwrap_err().to_string();
            assert!(error.starts_with(part), "{text:?}: {error}");
        }
        assert_eq!(parse("", "d").unwrap(), [], "an empty diff changes nothing");
    }
}

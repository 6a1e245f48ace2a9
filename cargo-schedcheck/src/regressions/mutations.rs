//! Files that somebody damaged, in every way that comes to mind: refused with a reason, or still a whole schedule.
use camino::Utf8Path;
use proptest::prelude::*;

use super::file::ReplayFile;
use crate::config::file::ConfigFile;
use crate::error::ExpectedError;
use crate::run::request::Request;

const REPLAY: &str = r#"# One failing schedule. Repeat it with `cargo schedcheck replay FILE`.
version = 1
choices = 2

[test]
package = "bank"
target = "lib"
name = "tests::transfer"
cargo-args = ["--features", "fast"]

[tool]
schedcheck = "0.1.0"
rustc = "rustc 1.95.0"

[failure]
outcome = "deadlock"
message = "deadlock: 2 threads wait for each other in a cycle"

[failure.location]
file = "src/lib.rs"
line = 10
column = 38

[options]
set = [["seed", "7"]]
default = [["max-time-ms", "60000"]]

[schedule]
fingerprint = "00ab12cd34ef5678"
steps = 7

[schedule.lines]
"src/lib.rs:9" = "    let mut source = from.balance.lock().unwrap();"

[[schedule.deltas]]
step = 5
thread = "0.2"
alt = "0"
op = "lock"
site = "src/lib.rs:9:43"
nth = 1

[schedule.deltas.instead]
thread = "0.1"
op = "lock"
site = "src/lib.rs:10:38"
nth = 1

[[schedule.deltas]]
step = 6
thread = "0.1"
alt = "65533"
op = "wake"
site = "src/lib.rs:9:43"
nth = 2
"#;

const CONFIG: &str = r#"skip = ["ring"]

[preset.default]
max-time = "10s"
bound = 2
priority = "mdpor,pb"

[preset.ci]
inherits = "default"
fail-fast = false
spurious = 0
races = "off"

[[preset.ci.overrides]]
filter = "queue::"
max-time = "10m"
method = ["push"]
"#;

/// One change to the bytes of a file.
#[derive(Clone, Debug)]
enum Change {
    Cut(usize),
    Remove(usize, usize),
    Repeat(usize, usize),
    Overwrite(usize, u8),
    Insert(usize, String),
}

fn change() -> impl Strategy<Value = Change> {
    let words = [
        "99999999999999999999",
        "-1",
        "[[",
        "]]",
        "\"",
        "\"\"\"",
        "\n",
        "=",
        "version = 2\n",
        "\u{0}",
        "\u{feff}",
        "{}",
        "nan",
        "1_000_000",
        "'",
        "[schedule]\n",
        "..",
        "0x7fffffffffffffff",
        "true",
    ];
    let word = prop::sample::select(words.to_vec()).prop_map(str::to_owned);
    prop_oneof![
        any::<usize>().prop_map(Change::Cut),
        (any::<usize>(), 0..80usize).prop_map(|(at, length)| Change::Remove(at, length)),
        (any::<usize>(), 0..80usize).prop_map(|(at, length)| Change::Repeat(at, length)),
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Change::Overwrite(at, byte)),
        (any::<usize>(), word).prop_map(|(at, word)| Change::Insert(at, word)),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    let place = |at: usize| at % (bytes.len() + 1);
    match change {
        Change::Cut(at) => bytes.truncate(place(*at)),
        Change::Remove(at, length) => {
            let at = place(*at);
            bytes.drain(at..bytes.len().min(at + length));
        }
        Change::Repeat(at, length) => {
            let at = place(*at);
            let again = bytes[at..bytes.len().min(at + length)].to_vec();
            bytes.splice(at..at, again);
        }
        Change::Overwrite(at, byte) => {
            let at = place(*at);
            if let Some(old) = bytes.get_mut(at) {
                *old = *byte;
            }
        }
        Change::Insert(at, word) => {
            let at = place(*at);
            bytes.splice(at..at, word.bytes());
        }
    }
}

fn changed(text: &str, changes: &[Change]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    changes.iter().for_each(|change| apply(&mut bytes, change));
    bytes
}

/// Reads a damaged replay file as the command does.
fn check_replay(bytes: &[u8]) {
    let dir = tempfile::tempdir().unwrap();
    let path = Utf8Path::from_path(dir.path()).unwrap().join("damaged.toml");
    fs_err::write(&path, bytes).unwrap();
    match ReplayFile::load(&path) {
        Err(ExpectedError::BadSetup(reason)) => {
            let reason = reason.strip_prefix(path.as_str()).expect("the file is named");
            assert!(reason.len() > 5, "no reason: {reason}");
        }
        Err(other) => panic!("{other:?}"),
        Ok(file) => {
            let request = Request::replay(&file.test.name, &file.schedule);
            let deltas = request.text().lines().filter(|line| line.starts_with("delta ")).count();
            assert_eq!(deltas, file.schedule.deltas.len(), "a value became a line of the request");
            assert_eq!(request.text().lines().next(), Some("schedcheck 1"));
        }
    }
}

/// Reads a damaged config file as the command does.
fn check_config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let path = Utf8Path::new("schedcheck.toml");
    if let Err(error) = ConfigFile::parse(text, path) {
        assert!(error.to_string().starts_with("schedcheck.toml:"), "without its place: {error}");
    }
}

#[test]
fn the_files_are_good_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let path = Utf8Path::from_path(dir.path()).unwrap().join("good.toml");
    fs_err::write(&path, REPLAY).unwrap();
    assert_eq!(ReplayFile::load(&path).unwrap().schedule.deltas.len(), 2);
    assert!(ConfigFile::parse(CONFIG, Utf8Path::new("c.toml")).is_ok());
}

#[test]
fn files_may_be_cut_at_every_byte() {
    for end in 0..REPLAY.len() {
        check_replay(&REPLAY.as_bytes()[..end]);
    }
    for end in 0..CONFIG.len() {
        check_config(&CONFIG.as_bytes()[..end]);
    }
}

#[test]
fn twenty_thousand_choices_are_read() {
    let one = REPLAY.rsplit("[[schedule.deltas]]").next().unwrap();
    let head = REPLAY.split("[[schedule.deltas]]").next().unwrap().replace("choices = 2", "choices = 20000");
    let many = format!("{head}{}", format!("[[schedule.deltas]]{one}").repeat(20_000));
    check_replay(many.as_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn damaged_replay_files_are_refused_or_whole(changes in prop::collection::vec(change(), 1..4)) {
        check_replay(&changed(REPLAY, &changes));
    }

    #[test]
    fn damaged_config_files_are_refused_with_their_place(changes in prop::collection::vec(change(), 1..4)) {
        check_config(&changed(CONFIG, &changes));
    }
}

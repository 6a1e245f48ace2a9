//! `cargo schedcheck show-config`: what holds, and who says so. The output is TOML.
use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use camino::Utf8Path;

use super::{Limits, Settings};
use crate::cli::{KeepOpts, ShowConfigArgs};
use crate::error::Result;
use crate::exit_code::ExitCode;
use crate::run::session::{Session, discover};
use crate::run::wire::arguments;

/// Every setting of a search, in the order in which it is shown, and what it means when nobody sets it. Only changed
/// lines are left out: there may be thousands.
const KEYS: [(&str, &str); 25] = [
    ("priority", ""),
    ("bound", "no bound: full coverage"),
    ("reduction", ""),
    ("max-time", "no time limit"),
    ("max-executions", "no limit"),
    ("max-steps", ""),
    ("seed", ""),
    ("random-runs", ""),
    ("sample", "none"),
    ("hunts", ""),
    ("seq", "none"),
    ("reach", "none"),
    ("levels", ""),
    ("symmetry", ""),
    ("leaks", ""),
    ("spurious", ""),
    ("timeouts", ""),
    ("weak-cas", ""),
    ("races", ""),
    ("os-threads", ""),
    ("cooperative", ""),
    ("method", "none"),
    ("var", "none"),
    ("trusted", "none"),
    ("focus", "none"),
];
/// Settings whose values are lists.
const LISTS: [&str; 4] = ["method", "var", "trusted", "focus"];

/// One source of settings and what it says, by key.
type Layer = (String, BTreeMap<String, String>);

/// Prints the settings that hold, in general or for the tests that are named. `environment`: the variables that
/// flags were taken from.
pub fn show(args: &ShowConfigArgs, environment: &BTreeMap<String, String>) -> Result<ExitCode> {
    let session = Session::open(&args.cargo, &args.config, &args.explore)?;
    let settings = &session.settings;
    let strongest = from_user(settings, environment);
    let mut text = String::new();
    text.push_str(&general(settings, &session.project.skipped_crates(&settings.skip)));
    if args.select.filters.is_empty() {
        let mut layers = strongest.clone();
        layers
            .extend(settings.layers_for("").into_iter().map(|(origin, limits)| (origin, readable(&limits))));
        text.push_str("\n# for every test, unless its attribute or an override says otherwise\n");
        text.push_str(&merged(&layers));
    } else {
        let build = session.build(&args.cargo)?;
        for (id, attribute) in discover(&build.binaries)?.with_attributes(&args.select)? {
            let mut layers = strongest.clone();
            let attribute = arguments(&attribute).map(|(key, value)| key_and_value(&key, value));
            layers.push(("attribute of the test".to_owned(), attribute.collect()));
            let weaker = settings.layers_for(&id.name).into_iter();
            layers.extend(weaker.map(|(origin, limits)| (origin, readable(&limits))));
            text.push_str(&format!("\n[{}]\n{}", quoted(&id.to_string()), merged(&layers)));
        }
    }
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::Passed)
}

/// What holds for the run as a whole.
fn general(settings: &Settings, skip: &[String]) -> String {
    let skip: Vec<String> = skip.iter().map(|name| quoted(name)).collect();
    let mut text = format!(
        "jobs = {}\nfail-fast = {}\nrequire-complete = {}\nskip = [{}]\n",
        settings.jobs,
        settings.fail_fast,
        settings.require_complete,
        skip.join(", ")
    );
    let keep = settings.keep(&KeepOpts::default(), Utf8Path::new(""));
    let files = [("certificate", keep.certificate), ("trend", keep.trend), ("summary", keep.summary)];
    for (key, path) in files.into_iter().filter_map(|(key, path)| Some((key, path?))) {
        text.push_str(&format!("{key} = {}\n", quoted(path.as_str())));
    }
    text
}

/// The command line and the environment, apart.
fn from_user(settings: &Settings, environment: &BTreeMap<String, String>) -> Vec<Layer> {
    let all = readable(&settings.set);
    let (from_env, from_line): (BTreeMap<_, _>, BTreeMap<_, _>) =
        all.into_iter().partition(|(key, _)| environment.contains_key(flag(key)));
    let mut layers = vec![("command line".to_owned(), from_line)];
    for (key, value) in from_env {
        layers.push((format!("environment variable {}", environment[flag(&key)]), [(key, value)].into()));
    }
    layers
}

/// The flag that sets what a key of the file sets.
fn flag(key: &str) -> &str {
    if key == "trusted" { "trust" } else { key }
}

/// The strongest source of each setting.
fn merged(layers: &[Layer]) -> String {
    let mut text = String::new();
    for (key, unset) in KEYS {
        let found = layers.iter().find_map(|(origin, values)| Some((origin, values.get(key)?)));
        let line = match found {
            Some((origin, value)) => format!("{:<32} # {origin}", format!("{key} = {value}")),
            None => format!("# {key}: {unset}"),
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Settings as keys and values of TOML.
fn readable(limits: &Limits) -> BTreeMap<String, String> {
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    for (key, value) in limits.pairs() {
        let (key, value) = key_and_value(key, &value);
        match values.get_mut(&key) {
            // A list comes one element at a time.
            Some(list) => {
                *list = format!("{}, {}", list.trim_end_matches(']'), value.trim_start_matches('['))
            }
            None => drop(values.insert(key, value)),
        }
    }
    values
}

fn key_and_value(key: &str, value: &str) -> (String, String) {
    if key == "max-time-ms" {
        let time = Duration::from_millis(value.parse().unwrap_or(0));
        return ("max-time".to_owned(), quoted(&humantime::format_duration(time).to_string()));
    }
    // A list of the file, a single name on the command line.
    let key = if key == "trust" { "trusted" } else { key };
    let value = match value {
        "yes" => "true".to_owned(),
        "no" => "false".to_owned(),
        _ if LISTS.contains(&key) => {
            let items: Vec<String> = value.split(',').map(|item| quoted(item.trim())).collect();
            format!("[{}]", items.join(", "))
        }
        _ if value.bytes().all(|byte| byte.is_ascii_digit()) => value.to_owned(),
        _ => quoted(value),
    };
    (key.to_owned(), value)
}

/// A text of TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_shown() {
        let some = |text: &str| Some(text.to_owned());
        let names = || vec!["a".to_owned()];
        let unusual = Limits {
            bound: Some(2),
            max_executions: std::num::NonZeroU64::new(9),
            sample: some("walk"),
            seq: some("a -> b"),
            reach: some("a & b"),
            method: names(),
            var: names(),
            trust: names(),
            focus: names(),
            ..Limits::built_in()
        };
        let told: BTreeMap<String, String> = readable(&unusual);
        let shown: Vec<&str> = KEYS.iter().map(|(key, _)| *key).collect();
        assert_eq!(told.len(), shown.len(), "{told:?}");
        assert!(told.keys().all(|key| shown.contains(&key.as_str())), "{told:?}");
    }
}

//! The command on the fixture, as users call it.

use anyhow::{Result, bail};
use schedcheck_tests::project::Project;

use super::{Finding, Hunt};
use crate::bench::figures::OURS;

/// Explores with default settings, once for each seed, one test after the other.
pub(super) fn explore(hunt: &mut Hunt) -> Result<()> {
    let project = Project::copy_of("gambit");
    for seed in 1..=hunt.seeds {
        eprintln!("{OURS}, seed {seed} of {}", hunt.seeds);
        let (seed, limit) = (seed.to_string(), format!("{}ms", hunt.limit.as_millis()));
        let args = ["--all-tests", "-r", "-j", "1", "--no-fail-fast", "--message-format", "json"];
        let these = ["--skip", "_fixed", "--seed", &seed, "--max-time", &limit];
        let output = project.schedcheck(&[&args[..], &these].concat()).run();
        let verdicts = output.verdicts();
        if verdicts.is_empty() {
            bail!("nothing was explored: {}", output.stderr);
        }
        for verdict in verdicts.into_values() {
            let test = verdict["test"].as_str().unwrap_or_default().to_owned();
            let number = |key: &str| verdict[key].as_u64().unwrap_or_default();
            let executions = number("executions");
            let finding = match verdict["outcome"].as_str() {
                Some("passed") if verdict["complete"] == true => Finding::Missed { executions },
                Some("passed") => Finding::OutOfTime { executions },
                // None of these programs crashes: the tool gave up.
                Some("crash") => Finding::Crashed("it did not come to a verdict".to_owned()),
                Some(kind) => {
                    hunt.kinds.insert(test.clone(), kind.to_owned());
                    Finding::Found { executions, seconds: number("elapsed_ms") as f64 / 1000.0 }
                }
                None => Finding::Crashed("no verdict".to_owned()),
            };
            hunt.kinds.entry(test.clone()).or_default();
            hunt.attempts.entry((test, OURS)).or_default().push(finding);
        }
    }
    Ok(())
}

//! Searches that go on another day, or on several machines.
use camino::Utf8PathBuf;
use clap::Args;

use super::part::PartSpec;
use super::{CargoOpts, ConfigArgs, FromArchive};

/// More machines than that nobody has; each part is a file.
const MOST_PARTS: i64 = 10_000;

/// Options of `run` about searches that go on elsewhere or later.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Long searches")]
pub struct ShareOpts {
    /// Go on where an earlier run of the same program stopped, whatever stopped it
    #[arg(long, env = "SCHEDCHECK_RESUME", value_parser = clap::builder::BoolishValueParser::new(), action = clap::ArgAction::SetTrue)]
    pub resume: bool,
    /// Search each test in -j different ways at once, by other priorities and seeds; the first to fail or to finish
    /// stops the others
    #[arg(long, env = "SCHEDCHECK_PORTFOLIO", value_parser = clap::builder::BoolishValueParser::new(), action = clap::ArgAction::SetTrue, conflicts_with_all = ["resume", "shard"])]
    pub portfolio: bool,
    /// How often the state of a search is written [default: 5s]
    #[arg(long, value_name = "DURATION", env = "SCHEDCHECK_CHECKPOINT_EVERY", value_parser = humantime::parse_duration)]
    pub checkpoint_every: Option<std::time::Duration>,
    /// How much memory the search of a test may take, such as 500MB or 2GB; the rest of it goes to the disk [default:
    /// as much as there is]
    #[arg(long, value_name = "SIZE", env = "SCHEDCHECK_MAX_MEMORY", value_parser = bytes)]
    pub max_memory: Option<u64>,
    /// Explore only this part of each test, such as `2/4`, or `auto/4` in a job array; `cargo schedcheck merge` joins
    /// the parts
    #[arg(long, value_name = "K/N", env = "SCHEDCHECK_SHARD")]
    pub shard: Option<PartSpec>,
    /// Where the states of searches are kept [default: schedcheck/checkpoints in the target directory]
    #[arg(long, value_name = "DIR", env = "SCHEDCHECK_CHECKPOINTS")]
    pub checkpoints: Option<Utf8PathBuf>,
}

/// `64MB`, `2GiB`, `1000000`.
fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => return Err(format!("`{text}` is not a size: write for example 500MB or 2GB")),
    };
    let number: u64 = number.parse().map_err(|_| format!("`{text}` has no number"))?;
    number.checked_mul(1 << shift).ok_or_else(|| format!("`{text}` is too much"))
}

/// Arguments of `split`.
#[derive(Debug, Args)]
pub struct SplitArgs {
    /// The state of a search, of `target/schedcheck/checkpoints`
    pub file: Utf8PathBuf,
    /// How many parts to make
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_PARTS))]
    pub into: u32,
}

/// Arguments of `merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// What the parts wrote [default: all parts in the folder of checkpoints]
    pub files: Vec<Utf8PathBuf>,
    /// Where the states of searches are kept [default: schedcheck/checkpoints in the target directory]
    #[arg(long, value_name = "DIR", env = "SCHEDCHECK_CHECKPOINTS")]
    pub checkpoints: Option<Utf8PathBuf>,
    #[command(flatten)]
    pub from: FromArchive,
    #[command(flatten)]
    pub explore: super::ExploreOpts,
    #[command(flatten)]
    pub config: ConfigArgs,
    #[command(flatten)]
    pub cargo: CargoOpts,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("1000"), Ok(1000));
        assert_eq!(bytes("2GB"), Ok(2 << 30));
        assert_eq!(bytes("64 MiB"), Ok(64 << 20));
        assert!(bytes("many").is_err() && bytes("1TBs").is_err() && bytes("99999999999GB").is_err());
    }
}

//! Whether to colour: our flag, else cargo's configuration, else what the terminal and its variables say.
use anstream::ColorChoice;

use crate::cli::cargo_opts::Color;

/// Decides for everything that is printed from now on.
pub fn choose(flag: Option<Color>, cargo: Option<cargo_config2::Color>) {
    let choice = match (flag, cargo) {
        (Some(Color::Always), _) => ColorChoice::Always,
        (Some(Color::Never), _) => ColorChoice::Never,
        (Some(Color::Auto), _) => ColorChoice::Auto,
        (None, Some(cargo_config2::Color::Always)) => ColorChoice::Always,
        (None, Some(cargo_config2::Color::Never)) => ColorChoice::Never,
        (None, _) => ColorChoice::Auto,
    };
    choice.write_global();
}

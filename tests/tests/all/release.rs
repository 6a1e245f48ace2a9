//! What would be published is complete.
use std::process::Command;

use schedcheck_tests::cli::{scratch, scrub};
use schedcheck_tests::repository;

/// In the order in which they are published: each needs those before it.
const CRATES: [&str; 3] = ["schedcheck-attr", "schedcheck-rt", "cargo-schedcheck"];

#[test]
fn the_three_crates_can_be_packed_and_have_what_readers_expect() {
    let target = scratch().join("packages");
    let mut pack = Command::new(env!("CARGO"));
    pack.args(["package", "--no-verify", "--allow-dirty", "--target-dir", target.as_str()]);
    for name in CRATES {
        pack.args(["-p", name]);
    }
    scrub(&mut pack);
    let output = pack.current_dir(repository()).output().expect("cargo starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    for name in CRATES {
        let package = format!("{name}-{}", env!("CARGO_PKG_VERSION"));
        let file = target.join(format!("package/{package}.crate"));
        let listed = Command::new("tar").args(["-tzf", file.as_str()]).output().expect("tar");
        let listed = String::from_utf8(listed.stdout).expect("UTF-8");
        let mut wanted = vec!["Cargo.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE"];
        if name == "schedcheck-rt" {
            // The engine and the facades travel as sources.
            wanted.extend([
                "src/search/wakeup.rs",
                "sysroot/std/src/lib.rs",
                "sysroot/schedcheck-engine/Cargo.toml.in",
            ]);
        }
        for wanted in wanted {
            let path = format!("{package}/{wanted}");
            assert!(listed.lines().any(|line| line == path), "{path} is missing in\n{listed}");
        }
    }
}

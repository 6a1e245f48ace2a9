//! `--partition`: every test is explored by exactly one of several machines.
use std::collections::BTreeSet;

use schedcheck_tests::project::Project;

#[test]
fn all_parts_together_are_the_whole_and_none_is_done_twice() {
    let project = Project::copy_of("canned");
    let list = |args: &[&str]| -> Vec<String> {
        let output = project.schedcheck(&[&["list"], args].concat()).run().expect_code(0);
        output.stdout.lines().map(str::to_owned).collect()
    };
    let whole: BTreeSet<String> = list(&[]).into_iter().collect();
    for how in ["count", "hash"] {
        let parts: Vec<_> =
            (1..=3).flat_map(|part| list(&["--partition", &format!("{how}:{part}/3")])).collect();
        assert_eq!(parts.len(), whole.len(), "{how}");
        assert_eq!(parts.into_iter().collect::<BTreeSet<_>>(), whole, "{how}");
    }

    // Job systems number their jobs.
    let list_as = |partition: &str, variables: &[(&str, &str)]| {
        let mut call = project.schedcheck(&["list", "--partition", partition]);
        for (name, value) in variables {
            call = call.env(name, value);
        }
        call.run()
    };
    let second = list(&["--partition", "hash:2/3"]).join("\n") + "\n";
    for (partition, variables) in [
        ("hash:auto/3", &[("JOB_COMPLETION_INDEX", "1")][..]),
        ("hash:auto", &[("CI_NODE_INDEX", "2"), ("CI_NODE_TOTAL", "3")]),
        (
            "hash:auto",
            &[("SLURM_ARRAY_TASK_ID", "8"), ("SLURM_ARRAY_TASK_MIN", "7"), ("SLURM_ARRAY_TASK_COUNT", "3")],
        ),
    ] {
        assert_eq!(list_as(partition, variables).expect_code(0).stdout, second, "{variables:?}");
    }
    let output = list_as("hash:auto/3", &[("JOB_COMPLETION_INDEX", "3")]).expect_code(96);
    assert!(output.stderr.contains("there is no part 4 of 3"), "{}", output.stderr);
    let output = list_as("hash:auto/3", &[]).expect_code(96);
    assert!(output.stderr.contains("JOB_COMPLETION_INDEX"), "{}", output.stderr);
    let output = list_as("hash:4/3", &[]).expect_code(2);
    assert!(output.stderr.contains("there is no part 4 of 3"), "{}", output.stderr);

    // A part without a test is no mistake of the user; a selection without one is.
    let args = ["--exact", "passes", "--partition"];
    let codes: Vec<String> = ["count:1/2", "count:2/2"]
        .iter()
        .map(|part| {
            let output = project.schedcheck(&[&args[..], &[part, "--message-format", "json"]].concat()).run();
            output.expect_code(0).json()[0]["tests"].to_string()
        })
        .collect();
    assert_eq!(codes, ["1", "0"]);
    let output = project.schedcheck(&["nothing", "--partition", "count:2/2"]).run().expect_code(4);
    assert!(output.stderr.contains("matches `nothing`"), "{}", output.stderr);
}

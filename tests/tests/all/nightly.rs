//! The nightly preset: what a run leaves behind for the next one, and for the page of a CI job.
use schedcheck_tests::project::Project;
use schedcheck_tests::repository;
use serde_json::Value;

#[test]
fn a_preset_names_the_files_that_a_nightly_run_leaves_behind() {
    let project = Project::copy_of("nightly");
    let config = "[preset.nightly]\ncertificate = \"out/certificate.toml\"\ntrend = \"out/trend.jsonl\"\n\
                  summary = \"out/summary.md\"\n";
    project.write(".config/schedcheck.toml", config);
    let night = |args: &[&str], code| {
        let args = [&["--preset", "nightly", "--all-tests"], args].concat();
        project.schedcheck(&args).run().expect_code(code)
    };
    let rows = || -> Vec<Value> {
        let text = project.read("out/trend.jsonl");
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    };

    let schema = repository().join("schema/trend.schema.json");
    let schema: Value = serde_json::from_str(&fs_err::read_to_string(schema).unwrap()).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();

    night(&["counts"], 0);
    let first = rows();
    assert_eq!(first.len(), 4);
    for row in &first {
        assert_eq!(
            (&row["v"], &row["outcome"], &row["complete"]),
            (&1.into(), &"passed".into(), &true.into())
        );
        assert!(row["executions"].as_u64().unwrap() > 0, "{row}");
        assert!(schema.is_valid(row), "{row}");
        assert_eq!(row["date"], first[0]["date"], "one date for a run");
    }
    let page = project.read("out/summary.md");
    for part in [
        "4 passed (0 incomplete), 0 failed, in ",
        "\nCertificate: `",
        "| test | verdict | covered | schedules | traces | time | since last time |\n",
        "| nightly::outside counts_from_outside | ✅ complete | all schedules | ",
        " | new |\n",
    ] {
        assert!(page.contains(part), "{part} is not in:\n{page}");
    }
    project.schedcheck(&["verify-certificate", "out/certificate.toml"]).run().expect_code(0);

    let shown = project.schedcheck(&["show-config", "--preset", "nightly"]).run().expect_code(0).stdout;
    assert!(shown.contains("\ncertificate = \"out/certificate.toml\"\ntrend = "), "{shown}");

    // The next night: one test has a budget now, one fails, one is as it was.
    night(&["counts_from_outside"], 0);
    assert_eq!(rows().len(), 5);
    assert!(
        project.read("out/summary.md").contains(" | traces ±0 %, time "),
        "{}",
        project.read("out/summary.md")
    );
    night(&["counts_from_outside", "--max-executions", "1"], 5);
    let page = project.read("out/summary.md");
    let row = "| 🟡 passed, not complete | some schedules | 1 | 1 | ";
    assert!(page.contains(row) && page.contains("| was ✅ complete |"), "{page}");
    assert!(page.contains("No certificate: 1 of 1 tests did not pass with their guarantee"), "{page}");
    night(&["--include-ignored", "counts_in_two_steps"], 100);
    let page = project.read("out/summary.md");
    assert!(page.contains("| ❌ panic | – | 2 | "), "{page}");
    assert!(page.contains("```text\nerror[schedcheck::panic]"), "{page}");
    assert_eq!(rows().len(), 7);
    assert!(rows().iter().all(|row| schema.is_valid(row)), "{:?}", rows());

    // Flags win over the preset; mistakes are noticed before anything is built.
    night(&["counts_from_outside", "--summary", "here.md"], 0);
    assert!(project.read("here.md").contains("1 passed"));
    for (config, reason) in [
        ("[preset.nightly]\ntrend = \"Cargo.toml\"\n", "Cargo.toml is not a trend file"),
        ("[preset.nightly]\nsummary = \"src\"\n", "src is a folder"),
        ("[[preset.nightly.overrides]]\nfilter = \"a\"\ntrend = \"b\"\n", "outside of `overrides`"),
    ] {
        project.write(".config/schedcheck.toml", config);
        let output = night(&[], 96);
        assert!(output.stderr.contains(reason), "{}", output.stderr);
        assert!(!output.stderr.contains("Finished"), "{}", output.stderr);
    }
}

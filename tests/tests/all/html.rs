//! The HTML report in a real browser: it loads without a complaint, steps through a schedule, and asks nobody for
//! anything.
use std::sync::LazyLock;

use camino::Utf8Path;
use schedcheck_tests::browser::Browser;
use schedcheck_tests::project::Project;

/// A browser, or a word of why the test does nothing.
fn browser() -> Option<Browser> {
    let browser = Browser::start();
    if browser.is_none() {
        eprintln!("skipped: no Chromium is installed");
    }
    browser
}

/// A project with a report on a deadlock, a lost update and a correct test.
static REPORTED: LazyLock<&Project> = LazyLock::new(|| {
    let project = Project::shared("unmodified");
    let args = ["--all-tests", "--no-fail-fast", "-j1", "--html", "report"];
    project.schedcheck(&args).run().expect_code(100);
    project
});

fn open(browser: &mut Browser, project: &Project, test: &str) {
    browser.open(&project.path.join("report/index.html"), 1500, 1000);
    let find = format!(
        "[...document.querySelectorAll('nav a')].find((link) => link.textContent.includes('{test}')).click()"
    );
    browser.evaluate(&find);
    let start = std::time::Instant::now();
    let there = format!("document.title.startsWith('tests::{test}')");
    while browser.evaluate(&there) != true {
        assert!(start.elapsed().as_secs() < 30, "{test} is not shown");
    }
}

/// The number and the text of the line that is lit.
fn lit(browser: &mut Browser) -> (u64, String) {
    let lines = browser.evaluate("document.querySelectorAll('#source .row.current').length");
    assert_eq!(lines, 1, "one line is lit");
    let number = browser.evaluate("Number(document.querySelector('#source .row.current').dataset.line)");
    let text = browser.evaluate("document.querySelector('#source .row.current code').textContent.trim()");
    (number.as_u64().unwrap(), text.as_str().unwrap().to_owned())
}

fn slide(browser: &mut Browser, to: u64) {
    let script =
        format!("slider.value = {to}; slider.dispatchEvent(new Event('input')); Number(slider.value)");
    assert_eq!(browser.evaluate(&script), to);
}

#[test]
fn the_slider_walks_through_the_schedule_and_lights_the_source() {
    let Some(mut browser) = browser() else { return };
    open(&mut browser, &REPORTED, "opposite_order");
    let title = browser.evaluate("document.querySelector('#title').textContent");
    assert_eq!(title, "deadlock: 2 threads wait for each other in a cycle");
    let lanes =
        browser.evaluate("[...document.querySelectorAll('#lanes .name')].map((name) => name.textContent)");
    assert_eq!(lanes, serde_json::json!(["main", "thread-1"]));

    let last = browser.evaluate("Number(slider.max)").as_u64().unwrap();
    assert_eq!(browser.evaluate("Number(slider.value)"), last, "it starts at the end");
    let source = REPORTED.read("src/lib.rs");
    let mut seen = Vec::new();
    for row in 0..=last {
        slide(&mut browser, row);
        let (number, text) = lit(&mut browser);
        assert_eq!(source.lines().nth(number as usize - 1).unwrap().trim(), text);
        seen.push(number);
    }
    // Spawn, both first locks, and the two that wait.
    assert_eq!(seen, [11, 16, 12, 17, 13], "{seen:?}");
    assert_eq!(browser.evaluate("document.querySelectorAll('#lanes .step.blocked').length"), 2);
    assert_eq!(browser.evaluate("document.querySelectorAll('#lanes .hold').length"), 2);
    assert_eq!(browser.evaluate("document.querySelectorAll('#lanes .turn').length"), 1);
    // The spawn comes before the first step of the spawned thread.
    assert_eq!(browser.evaluate("document.querySelectorAll('#lanes .arrow').length"), 1);

    // Keys and buttons do the same.
    browser.evaluate("document.querySelector('#back').click()");
    assert_eq!(lit(&mut browser).0, 17);
    browser.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft' }))");
    assert_eq!(lit(&mut browser).0, 12);
    // All steps: also those that concern their own thread only.
    browser.evaluate("everything.click()");
    assert!(browser.evaluate("Number(slider.max)").as_u64().unwrap() > last);
    assert!(browser.evaluate("document.querySelectorAll('#lanes .arrow').length").as_u64().unwrap() >= 1);
    assert_eq!(lit(&mut browser).0, 12);

    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn the_replay_command_can_be_copied() {
    let Some(mut browser) = browser() else { return };
    open(&mut browser, &REPORTED, "counts_to_two");
    let command = browser.evaluate("document.querySelector('#replay').textContent");
    assert_eq!(
        command,
        "cargo schedcheck replay target/schedcheck/failures/unmodified.lib.tests-counts_to_two.toml"
    );
    browser.evaluate("document.querySelector('#copy').click(); new Promise((done) => setTimeout(done, 300))");
    assert_eq!(browser.evaluate("document.querySelector('#copy').textContent"), "copied");
    let title = browser.evaluate("document.querySelector('#title').textContent");
    assert!(title.as_str().unwrap().starts_with("assertion `left == right` failed"), "{title}");
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn a_passed_test_has_its_curves() {
    let Some(mut browser) = browser() else { return };
    open(&mut browser, &REPORTED, "adds_under_a_lock");
    let heads =
        browser.evaluate("[...document.querySelectorAll('.chart h3')].map((head) => head.textContent)");
    assert_eq!(
        heads,
        serde_json::json!(["Executions over time", "Schedules waiting to be run", "Memory of the search"])
    );
    let curves = browser.evaluate(
        "[...document.querySelectorAll('.curve')].every((curve) => !curve.getAttribute('d').includes('NaN'))",
    );
    assert_eq!(curves, true);
    let tiles = browser.evaluate("document.querySelector('.tiles').textContent");
    assert!(tiles.as_str().unwrap().contains("100 %covered"), "{tiles}");
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn light_and_dark_look_different_and_nothing_is_fetched() {
    let Some(mut browser) = browser() else { return };
    let project = &*REPORTED;
    let pictures = Utf8Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut colors = Vec::new();
    for scheme in ["light", "dark"] {
        browser.prefer(scheme);
        open(&mut browser, project, "opposite_order");
        browser.screenshot(&pictures.join(format!("report-{scheme}.png")));
        colors.push(browser.evaluate("getComputedStyle(document.body).backgroundColor"));
    }
    assert_ne!(colors[0], colors[1]);
    // On a telephone everything is still inside the page.
    browser.open(&project.path.join("report/index.html"), 400, 800);
    let overflow =
        browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
    assert_eq!(overflow, 0);
    assert_eq!(browser.errors, Vec::<String>::new());
    let foreign: Vec<&String> = browser
        .requests
        .iter()
        .filter(|url| !url.ends_with("/report/index.html") && !url.starts_with("data:"))
        .collect();
    assert!(foreign.is_empty(), "{foreign:?}");
}

#[test]
fn the_page_is_one_file() {
    let project = &*REPORTED;
    let files: Vec<_> =
        project.path.join("report").read_dir_utf8().unwrap().map(|entry| entry.unwrap()).collect();
    assert_eq!(files.len(), 1);
    let page = project.read("report/index.html");
    assert!(page.len() < 200_000, "{} bytes", page.len());
    let args = ["--all-tests", "adds_under_a_lock", "--html", "Cargo.toml/report"];
    project.schedcheck(&args).run().expect_code(96);
}

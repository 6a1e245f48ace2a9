// The list of tests on the left, one of them on the right.
const DATA = JSON.parse(document.getElementById("data").textContent);
let keys = null;

function stateOf(test) {
  if (test.outcome !== "passed") return "bad";
  return test.complete ? "good" : "part";
}

function verdictOf(test) {
  if (test.outcome !== "passed") return test.outcome;
  return test.complete ? "passed, complete" : "passed, not complete";
}

function amount(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

function listTests() {
  const { passed, failed, incomplete } = DATA.summary;
  const totals = [`${passed} passed`, incomplete ? `${incomplete} incomplete` : null, `${failed} failed`].filter(Boolean).join(", ");
  const links = DATA.tests.map((test, index) => element("a", { href: `#${index}` },
    element("span", { class: `dot ${stateOf(test)}` }), element("span", {}, test.name, element("small", {}, `${verdictOf(test)} · ${amount(test.executions, "schedule")}`))));
  document.getElementById("tests").replaceChildren(element("h1", {}, "cargo schedcheck"), element("div", { class: "totals" }, totals), ...links);
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Pages opened from a file may not use the clipboard directly.
    const area = element("textarea", {}, text);
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.textContent = "copied";
  setTimeout(() => { button.textContent = "copy"; }, 1500);
}

function replayCard(test) {
  if (!test.replay_command) return null;
  const button = element("button", { id: "copy" }, "copy");
  button.addEventListener("click", () => copy(test.replay_command, button));
  return element("div", { class: "card" }, element("h3", {}, "Replay"), element("div", { class: "replay" }, element("code", { id: "replay" }, test.replay_command), button));
}

function tile(value, name) {
  return element("div", { class: "tile" }, element("b", {}, value), element("span", {}, name));
}

function tiles(test) {
  const estimate = test.samples.map((sample) => sample.estimate).filter((value) => value !== null).at(-1);
  return element("div", { class: "tiles" },
    tile(test.executions.toLocaleString("en"), "executions"),
    tile(test.traces.toLocaleString("en"), "distinct behaviours"),
    test.complete ? tile("100 %", "covered") : tile(estimate ? `≈ ${compact(estimate)}` : "unknown", "estimate of all executions"),
    tile(compact(test.peak_pending), "schedules waiting at most"),
    tile(bytes(test.peak_bytes), "memory at most"),
    tile(`${(test.elapsed_ms / 1000).toFixed(1)} s`, "time"));
}

function failure(test) {
  const source = sourceView(test);
  const parts = [];
  if (test.trace.length) {
    const line = timeline(test, source);
    keys = line.keys;
    parts.push(element("div", { class: "split" },
      element("div", { class: "card" }, element("h3", {}, test.skipped ? `The schedule (its last ${test.trace.length} steps)` : "The schedule"), line.root),
      element("div", { class: "card" }, element("h3", {}, "The source"), source.root)));
    parts.push(line.start);
  } else if (test.marks.length) {
    parts.push(element("div", { class: "card" }, source.root));
    parts.push(() => source.show(test.marks[0], []));
  }
  return parts;
}

function show() {
  const index = Math.max(0, Math.min(DATA.tests.length - 1, Number(location.hash.slice(1)) || 0));
  const test = DATA.tests[index];
  const main = document.getElementById("main");
  keys = null;
  document.querySelectorAll("nav a").forEach((link, at) => at === index ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current"));
  if (!test) {
    main.replaceChildren(element("p", {}, "No test was explored."));
    return;
  }
  const failed = test.outcome !== "passed";
  const head = element("div", { class: "head" }, element("span", { class: `badge ${stateOf(test)}` }, verdictOf(test)),
    element("h2", { id: "title" }, failed ? test.title : test.name), element("div", { class: "id mono" }, test.id));
  const parts = failed ? failure(test) : [];
  const after = parts.filter((part) => typeof part === "function");
  const notes = [...test.notes, ...(test.coverage ? [`${failed ? "explored" : "covered"}: ${test.coverage}`] : [])];
  main.replaceChildren(head, ...[
    replayCard(test),
    ...parts.filter((part) => typeof part !== "function"),
    failed ? null : tiles(test),
    notes.length ? element("div", { class: "card" }, element("ul", { class: "notes" }, ...notes.map((note) => element("li", {}, note)))) : null,
    test.output ? element("div", { class: "card" }, element("h3", {}, "Output of the test in this schedule"), element("pre", { class: "text" }, test.output)) : null,
    !failed && test.samples.length > 1 ? charts(test) : null,
    failed ? element("details", { class: "card" }, element("summary", {}, "As text"), element("pre", { class: "text" }, test.text)) : null,
    failed && test.samples.length > 1 ? element("details", { class: "card" }, element("summary", {}, "The search"), tiles(test), charts(test)) : null,
  ].filter(Boolean));
  after.forEach((action) => action());
  document.title = `${test.name}: ${verdictOf(test)}`;
}

document.addEventListener("keydown", (event) => keys?.(event));
window.addEventListener("hashchange", show);
listTests();
show();

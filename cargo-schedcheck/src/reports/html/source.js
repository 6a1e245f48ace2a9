// The source beside the schedule: one file at a time, the current line lit, a peg where each thread stands.
const KEYWORDS = /\b(as|async|await|break|const|continue|crate|else|enum|extern|false|fn|for|if|impl|in|let|loop|match|mod|move|mut|pub|ref|return|self|Self|static|struct|super|trait|true|type|unsafe|use|where|while|dyn)\b/g;

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function threadColor(thread) {
  return `var(--t${thread % 8})`;
}

// A line of Rust in colours, as far as one line alone can tell.
function colored(line) {
  const parts = document.createDocumentFragment();
  const pattern = /(\/\/.*$)|("(?:[^"\\]|\\.)*")|([^"/]+|\/|")/g;
  for (const [piece, comment, string] of line.matchAll(pattern)) {
    if (comment || string) {
      parts.append(element("i", { class: comment ? "c" : "s" }, piece));
      continue;
    }
    let from = 0;
    for (const word of piece.matchAll(KEYWORDS)) {
      parts.append(piece.slice(from, word.index), element("i", { class: "k" }, word[0]));
      from = word.index + word[0].length;
    }
    parts.append(piece.slice(from));
  }
  return parts;
}

function sourceView(test) {
  const root = element("div", { class: "source mono", id: "source" });
  let shown = null;
  let rows = new Map();

  function open(file) {
    shown = file;
    rows = new Map();
    root.replaceChildren(element("div", { class: "file" }, file ?? ""));
    const text = test.files[file];
    if (text === undefined) {
      root.append(element("div", { class: "file" }, "This file could not be read when the report was written."));
      return;
    }
    text.split("\n").forEach((line, index) => {
      const number = index + 1;
      const marks = test.marks.filter((mark) => mark.file === file && mark.line === number);
      const row = element("div", { class: marks.length ? "row marked" : "row", "data-line": number },
        element("span", { class: "at" }, String(number)), element("span", { class: "pegs" }), element("code", {}, colored(line)));
      rows.set(number, row);
      root.append(row);
      for (const mark of marks) {
        root.append(element("div", { class: mark.primary ? "note" : "note context" }, `↑ ${mark.label}`));
      }
    });
  }

  // Lights the place of a step; `standing` says where each thread is by then.
  function show(place, standing) {
    const file = place?.file ?? shown ?? test.marks[0]?.file ?? Object.keys(test.files)[0] ?? null;
    if (file !== shown) open(file);
    for (const row of rows.values()) {
      row.classList.remove("current");
      row.querySelector(".pegs").replaceChildren();
    }
    for (const { thread, site } of standing) {
      if (site?.file !== shown) continue;
      const peg = element("span", { class: "peg", style: `background:${threadColor(thread)}`, title: test.threads[thread]?.name ?? "" });
      rows.get(site.line)?.querySelector(".pegs").append(peg);
    }
    const row = place && rows.get(place.line);
    if (row) {
      row.classList.add("current");
      root.scrollTop = Math.max(0, row.offsetTop - root.offsetTop - root.clientHeight / 2.5);
    }
  }
  return { root, show };
}

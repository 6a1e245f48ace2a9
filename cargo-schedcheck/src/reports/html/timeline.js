// The schedule: a lane for each thread, a box for each step, bars for locks that are held, arrows for what had to
// happen before what. A slider goes through it step by step.
const HEAD = 40, MARGIN = 62, GAP = 18, NARROW = 205;

function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function shortPlace(site) {
  return site ? `${site.file.split("/").pop()}:${site.line}` : "";
}

function cut(text, length) {
  return text.length > length ? text.slice(0, length - 1) + "…" : text;
}

// Everything that has a row: steps, and at the end what each blocked thread waits for.
function rowsOf(test, everything) {
  const rows = [];
  // A folded step hands its preemption on to the next one shown.
  let preempted = false;
  test.trace.forEach((step, at) => {
    preempted ||= step.preemption;
    if (!step.quiet || everything) {
      rows.push({ ...step, at, preemption: preempted, text: [step.op, step.object].filter(Boolean).join(" ") });
      preempted = false;
    }
    for (const access of test.accesses.filter((access) => access.after === at)) {
      rows.push({ ...access, at: at + 0.5, preemption: preempted, racy: true, step: "" });
      preempted = false;
    }
  });
  test.blocked.forEach((blocked) => {
    rows.push({ ...blocked, at: test.trace.length, blocked: true, step: "end", text: [blocked.op, blocked.object].filter(Boolean).join(" ") });
  });
  return rows;
}

function timeline(test, source) {
  const state = { everything: false, rows: [], current: 0 };
  const slider = element("input", { type: "range", id: "slider", min: 0, value: 0, "aria-label": "Step of the schedule" });
  const now = element("div", { id: "now" });
  const lanes = element("div", { class: "lanes", id: "lanes" });
  const all = element("input", { type: "checkbox", id: "everything" });
  const back = element("button", { id: "back", title: "One step back (←)" }, "◀");
  const forth = element("button", { id: "forth", title: "One step on (→)" }, "▶");
  let boxes = [], arrows = [];

  const threads = [...new Set([...test.trace, ...test.blocked, ...test.accesses].map((step) => step.thread))].sort((a, b) => a - b);
  const objects = [...new Set(test.holds.map((hold) => hold.object))];
  // Set when drawn: lanes share the room there is; in narrow ones the place stands below the operation.
  let width = 260, ROW = 30, BOX = 22;
  const laneX = (thread) => MARGIN + threads.indexOf(thread) * (width + GAP);
  const objectColor = (object) => threadColor(objects.indexOf(object) + 3);

  function draw() {
    const room = (lanes.clientWidth || 640) - MARGIN - 4;
    width = Math.max(124, Math.min(280, Math.floor(room / Math.max(1, threads.length)) - GAP));
    const tall = width < NARROW;
    [ROW, BOX] = tall ? [44, 36] : [30, 22];
    state.rows = rowsOf(test, state.everything);
    const rows = state.rows;
    const y = (index) => HEAD + index * ROW;
    const height = HEAD + rows.length * ROW + 14;
    const total = MARGIN + threads.length * (width + GAP);
    const picture = svg("svg", { width: total, height, viewBox: `0 0 ${total} ${height}`, role: "img" });
    const tip = svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" },
      svg("path", { d: "M0,0 L8,4 L0,8 z", fill: "context-stroke" }));
    picture.append(svg("defs", {}, tip));
    for (const thread of threads) {
      const x = laneX(thread);
      picture.append(svg("line", { x1: x + 6, x2: x + 6, y1: HEAD - 8, y2: height - 8, stroke: threadColor(thread), "stroke-width": 2, opacity: 0.35 }));
      const name = svg("text", { x: x + 2, y: 20, class: "name" }, test.threads[thread]?.name ?? `#${thread}`);
      name.style.fill = threadColor(thread);
      picture.append(name);
    }
    // Rows that are folded belong to the next one that is shown.
    const nearest = (at) => {
      const index = rows.findIndex((row) => row.at >= at);
      return index < 0 ? rows.length - 1 : index;
    };
    // Bars: each lock of a thread has its own track, so that nested ones stand side by side.
    const tracks = new Map();
    for (const hold of test.holds) {
      if (!threads.includes(hold.thread)) continue;
      const used = tracks.get(hold.thread) ?? [];
      const to = hold.to === null ? Infinity : hold.to;
      let track = used.findIndex((end) => end < hold.from);
      if (track < 0) track = used.length;
      used[track] = to;
      tracks.set(hold.thread, used);
      const top = y(nearest(hold.from)) + 2;
      const bottom = hold.to === null ? height - 10 : y(nearest(hold.to)) + BOX - 2;
      const bar = svg("rect", { class: "hold", x: laneX(hold.thread) + width - 6 - Math.min(track, 3) * 7, y: top, width: 5, height: Math.max(6, bottom - top), rx: 2.5 },
        svg("title", {}, `${test.threads[hold.thread]?.name} holds ${hold.object}`));
      bar.style.fill = objectColor(hold.object);
      picture.append(bar);
    }
    if (test.lasso) {
      const top = y(nearest(test.lasso.start)) - 4;
      const bottom = y(nearest(test.lasso.start + test.lasso.length - 1)) + BOX + 4;
      picture.append(svg("rect", { class: "round", x: 2, y: top, width: total - 8, height: bottom - top, rx: 8 }, svg("title", {}, "this round repeats")));
    }
    boxes = rows.map((row, index) => {
      const x = laneX(row.thread), top = y(index);
      const box = svg("g", { class: row.blocked || row.racy ? "step blocked" : "step", "data-row": index },
        svg("rect", { x: x + 14, y: top, width: width - 24, height: BOX, rx: 6 }));
      const place = shortPlace(row.site);
      const letters = Math.floor((width - 38) / 6.7);
      const text = svg("text", { x: x + 21, y: top + 15 }, cut(row.text, Math.max(6, tall ? letters : letters - place.length - 1)));
      const where = tall
        ? svg("text", { x: x + 21, y: top + 29, class: "place" }, cut(place, letters))
        : svg("text", { x: x + width - 18, y: top + 15, class: "place", "text-anchor": "end" }, place);
      box.append(text, where, svg("title", {}, `${row.text} ${place}`));
      const number = svg("text", { x: 40, y: top + 15, class: "number", "text-anchor": "end" }, String(row.step));
      const group = svg("g", {}, number, box);
      if (row.preemption) group.append(svg("text", { x: 44, y: top + 16, class: "turn" }, "⇄", svg("title", {}, "a preemption: the thread before could have gone on")));
      box.addEventListener("click", () => go(index));
      picture.append(group);
      return group;
    });
    // Where an end of an arrow is folded, the nearest step of its thread stands for it.
    const ofThread = (at) => (row) => row.thread === test.trace[at].thread;
    const before = (at) => rows.findLastIndex((row) => row.at <= at && ofThread(at)(row));
    const after = (at) => rows.findIndex((row) => row.at >= at && ofThread(at)(row));
    arrows = test.edges.map((edge) => ({ edge, start: before(edge.from), end: after(edge.to) })).filter(({ start, end }) => start >= 0 && end >= 0).map(({ edge, start, end }) => {
      const [from, to] = [rows[start], rows[end]];
      const right = laneX(to.thread) > laneX(from.thread);
      const x1 = laneX(from.thread) + (right ? width - 10 : 14), x2 = laneX(to.thread) + (right ? 13 : width - 9);
      const y1 = y(start) + BOX / 2, y2 = y(end) + BOX / 2;
      const bend = (right ? 1 : -1) * 26;
      const path = svg("path", { class: "arrow", "marker-end": "url(#tip)", d: `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}` }, svg("title", {}, `${edge.why}`));
      picture.append(path);
      return { start, end, path };
    });
    lanes.replaceChildren(picture);
    slider.max = Math.max(0, rows.length - 1);
  }

  function go(index) {
    const rows = state.rows;
    if (!rows.length) return;
    state.current = Math.max(0, Math.min(rows.length - 1, index));
    const row = rows[state.current];
    slider.value = state.current;
    boxes.forEach((box, at) => {
      box.classList.toggle("later", at > state.current);
      box.querySelector(".step").classList.toggle("current", at === state.current);
    });
    for (const { start, end, path } of arrows) {
      path.classList.toggle("lit", start === state.current || end === state.current);
      path.classList.toggle("later", end > state.current);
    }
    const who = element("b", { style: `color:${threadColor(row.thread)}` }, test.threads[row.thread]?.name ?? "");
    const what = row.blocked ? ` waits in ${row.text} and never goes on` : ` ${row.text}`;
    const held = test.holds.filter((hold) => hold.from <= row.at && (hold.to === null || hold.to > row.at))
      .map((hold) => `${test.threads[hold.thread]?.name} holds ${hold.object}`);
    const when = row.racy ? "between two steps: " : `step ${row.step}: `;
    now.replaceChildren(row.blocked ? "at the end: " : when, who, what,
      element("span", { style: "color:var(--soft)" }, held.length ? `  ·  ${held.join(", ")}` : ""));
    const standing = threads.map((thread) => {
      const before = rows.slice(0, state.current + 1).filter((step) => step.thread === thread && step.site);
      return { thread, site: before.at(-1)?.site };
    });
    source.show(row.site, standing);
    const y = HEAD + state.current * ROW;
    if (y < lanes.scrollTop + HEAD || y > lanes.scrollTop + lanes.clientHeight - 2 * ROW) lanes.scrollTop = y - lanes.clientHeight / 2;
  }

  slider.addEventListener("input", () => go(Number(slider.value)));
  back.addEventListener("click", () => go(state.current - 1));
  forth.addEventListener("click", () => go(state.current + 1));
  all.addEventListener("change", () => {
    const at = state.rows[state.current]?.at ?? 0;
    state.everything = all.checked;
    draw();
    go(Math.max(0, state.rows.findIndex((row) => row.at >= at)));
  });
  const keys = (event) => {
    if (event.target instanceof HTMLInputElement && event.target.type === "range") return;
    if (event.key === "ArrowLeft" || event.key === "ArrowUp") go(state.current - 1);
    else if (event.key === "ArrowRight" || event.key === "ArrowDown") go(state.current + 1);
    else return;
    event.preventDefault();
  };
  const legend = element("div", { class: "legend" }, element("span", {}, "⇄ preemption"), element("span", {}, "→ makes possible, or is seen by"),
    ...objects.slice(0, 8).map((object) => element("span", {}, element("span", { class: "swatch", style: `background:${objectColor(object)}` }), `${object} held`)));
  const controls = element("div", { class: "controls" }, back, slider, forth, element("label", {}, all, " every step"));
  const root = element("div", {}, controls, now, lanes, legend);
  const start = () => {
    draw();
    go(state.rows.length - 1);
  };
  window.addEventListener("resize", () => {
    if (!lanes.isConnected) return;
    draw();
    go(state.current);
  });
  return { root, keys, start };
}

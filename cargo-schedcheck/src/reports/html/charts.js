// Curves over the time of a search.
function niceStep(span, count) {
  const raw = span / count, power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= raw);
}

function compact(value) {
  if (value >= 1e9) return `${+(value / 1e9).toPrecision(3)} G`;
  if (value >= 1e6) return `${+(value / 1e6).toPrecision(3)} M`;
  if (value >= 1e4) return `${+(value / 1e3).toPrecision(3)} k`;
  return String(+value.toPrecision(4));
}

function bytes(value) {
  if (value >= 2 ** 30) return `${+(value / 2 ** 30).toPrecision(3)} GiB`;
  if (value >= 2 ** 20) return `${+(value / 2 ** 20).toPrecision(3)} MiB`;
  if (value >= 2 ** 10) return `${+(value / 2 ** 10).toPrecision(3)} KiB`;
  return `${Math.round(value)} B`;
}

// `curves`: [{ name, color, value(sample), dashed }]; samples have `ms`.
function chart(title, samples, curves, format = compact) {
  const W = 520, H = 230, L = 58, R = 14, T = 12, B = 30;
  const known = curves.map((curve) => ({ ...curve, points: samples.map((s) => [s.ms, curve.value(s)]).filter(([, v]) => v !== null && v !== undefined) }));
  const maxX = Math.max(1, ...samples.map((s) => s.ms));
  const maxY = Math.max(1, ...known.flatMap((curve) => curve.points.map(([, v]) => v))) * 1.06;
  const x = (ms) => L + (ms / maxX) * (W - L - R), y = (v) => H - B - (v / maxY) * (H - T - B);
  const picture = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": title });
  const stepY = format === bytes ? 2 ** Math.ceil(Math.log2(maxY / 4)) : niceStep(maxY, 4), stepX = niceStep(maxX / 1000, 5);
  for (let v = 0; v <= maxY; v += stepY) {
    picture.append(svg("line", { class: "grid", x1: L, x2: W - R, y1: y(v), y2: y(v) }), svg("text", { x: L - 8, y: y(v) + 4, "text-anchor": "end" }, format(v)));
  }
  for (let s = 0; s <= maxX / 1000; s += stepX) {
    picture.append(svg("text", { x: x(s * 1000), y: H - 10, "text-anchor": "middle" }, `${+s.toPrecision(3)} s`));
  }
  for (const curve of known) {
    if (!curve.points.length) continue;
    // Where it hardly is outside of.
    const range = curve.range ? samples.map((s) => [s.ms, ...curve.range(s)]).filter(([, low, high]) => low !== null && high !== null) : [];
    if (range.length > 1) {
      const inside = (v) => y(Math.min(v, maxY)).toFixed(1);
      const upper = range.map(([ms, , high]) => `${x(ms).toFixed(1)},${inside(high)}`);
      const lower = range.map(([ms, low]) => `${x(ms).toFixed(1)},${inside(low)}`).reverse();
      const band = svg("path", { class: "area", d: `M${[...upper, ...lower].join("L")}z` });
      band.style.fill = curve.color;
      picture.append(band);
    }
    const line = curve.points.map(([ms, v], at) => `${at ? "L" : "M"}${x(ms).toFixed(1)},${y(v).toFixed(1)}`).join("");
    if (!curve.dashed) {
      const area = svg("path", { class: "area", d: `${line}L${x(curve.points.at(-1)[0])},${y(0)}L${x(curve.points[0][0])},${y(0)}z` });
      area.style.fill = curve.color;
      picture.append(area);
    }
    const path = svg("path", { class: curve.dashed ? "goal" : "curve", d: line });
    path.style.stroke = curve.color;
    picture.append(path);
  }
  const legend = element("div", { class: "legend" }, ...known.map((curve) =>
    element("span", {}, element("span", { class: "swatch", style: `background:${curve.color}` }), `${curve.name}: ${curve.points.length ? format(curve.points.at(-1)[1]) : "unknown"}`)));
  return element("div", { class: "card chart" }, element("h3", {}, title), picture, legend);
}

function charts(test) {
  const samples = test.samples;
  const cost = (name) => (sample) => sample[name];
  return element("div", { class: "charts" },
    chart("Executions over time", samples, [
      { name: "executions", color: "var(--t0)", value: cost("executions") },
      { name: "distinct behaviours", color: "var(--t2)", value: cost("traces") },
      { name: "estimate of all", color: "var(--t1)", value: cost("estimate"), dashed: true, range: (s) => [s.low, s.high] },
    ]),
    chart("Schedules waiting to be run", samples, [{ name: "pending", color: "var(--t3)", value: cost("pending") }]),
    chart("Memory of the search", samples, [{ name: "in use", color: "var(--t4)", value: cost("bytes") }], bytes));
}

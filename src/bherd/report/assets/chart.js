// A line chart in SVG: lines with bands, a cross-hair for mouse, touch and arrow keys.

const MARGIN = { top: 10, right: 12, bottom: 42, left: 58 };

function swatch(index) {
  return svg(
    "svg",
    { class: "swatch", width: 26, height: 10, viewBox: "0 0 26 10", "aria-hidden": true },
    svg("line", { class: colourClass(index), x1: 1, x2: 25, y1: 5, y2: 5, "stroke-width": 2.6, "stroke-dasharray": dash(index) }),
  );
}

// `describe()` gives { series: [{ label, index, points }], xLabel, yLabel, xText, yText, log, target }.
function lineChart({ id, name, describe }) {
  const live = el("p", { class: "visually-hidden", "aria-live": "polite" });
  const picture = el("div", { class: "picture" });
  const plot = el(
    "div",
    { class: "plot live", id, tabindex: 0, role: "group", "aria-label": `${name}. Left and right arrow keys read the values.` },
    picture,
  );
  const tip = makeTip(plot);
  const host = el("div", null, plot, live);
  let drawn = null;
  let cursor = null;

  function draw() {
    const width = Math.max(260, plot.clientWidth || 560);
    const height = Math.round(Math.min(360, Math.max(230, width * 0.58)));
    drawn = layout(describe(), width, height, name);
    picture.replaceChildren(drawn.node);
    hide();
  }

  function hide() {
    tip.hide();
    cursor = null;
    if (drawn.cross) drawn.cross.setAttribute("visibility", "hidden");
  }

  function show(position, aloud) {
    if (!drawn.stops.length) return;
    cursor = Math.max(0, Math.min(drawn.stops.length - 1, position));
    const x = drawn.stops[cursor];
    const at = drawn.x(x);
    drawn.cross.setAttribute("visibility", "visible");
    drawn.cross.setAttribute("x1", at);
    drawn.cross.setAttribute("x2", at);
    const rows = readings(drawn.chart, x);
    const title = `${drawn.chart.xLabel} ${drawn.chart.xText(x)}`;
    tip.show(title, rows.map((row) => [swatch(row.index), row.label, row.text]), (at / drawn.width) * plot.clientWidth);
    if (aloud) live.textContent = `${title}: ${rows.map((r) => `${r.label} ${r.text}`).join("; ")}`;
  }

  function nearest(event) {
    const box = picture.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * drawn.width;
    let best = 0;
    drawn.stops.forEach((stop, i) => {
      if (Math.abs(drawn.x(stop) - at) < Math.abs(drawn.x(drawn.stops[best]) - at)) best = i;
    });
    return best;
  }

  reactTo(plot, (event) => show(nearest(event), false), hide);
  plot.addEventListener("keydown", (event) => {
    const last = drawn.stops.length - 1;
    const leap = Math.max(1, Math.round(last / 10));
    const now = cursor === null ? -1 : cursor;
    const moves = { ArrowRight: now + 1, ArrowLeft: now < 0 ? last : now - 1, PageDown: now + leap, PageUp: now - leap, Home: 0, End: last };
    if (event.key in moves) {
      event.preventDefault();
      show(moves[event.key], true);
    }
  });
  keepDrawn(plot, draw);
  return { node: host, draw, svg: () => picture.querySelector("svg"), chart: () => drawn.chart };
}

function readings(chart, x) {
  const rows = [];
  for (const series of chart.series) {
    let best = null;
    for (const point of series.points) {
      if (best === null || Math.abs(point.x - x) < Math.abs(best.x - x)) best = point;
    }
    if (best === null) continue;
    const range = best.seeds > 1 ? ` (${chart.yText(best.low)} – ${chart.yText(best.high)})` : "";
    rows.push({ label: series.label, index: series.index, value: best.y, text: chart.yText(best.y) + range });
  }
  return rows.sort((a, b) => b.value - a.value);
}

function layout(chart, width, height, name) {
  const usable = chart.series.map((series) => ({
    ...series,
    points: chart.log ? series.points.filter((point) => point.y > 0) : series.points,
  }));
  const shown = { ...chart, series: usable };
  const all = usable.flatMap((series) => series.points);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": name });
  if (!all.length) {
    root.append(svg("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, "Nothing to draw: no method is shown, or nothing was measured."));
    return { node: root, chart: shown, stops: [], x: () => 0, width, cross: null };
  }
  const [xLow, xHigh] = extent(all.map((point) => point.x));
  const floor = (point) => (chart.log && point.low <= 0 ? point.y : point.low);
  const [yLow, yHigh] = padded(extent(all.flatMap((point) => [floor(point), point.high])), chart.log);
  const x = makeScale(xLow, xHigh === xLow ? xLow + 1 : xHigh, MARGIN.left, width - MARGIN.right, false);
  const y = makeScale(yLow, yHigh, height - MARGIN.bottom, MARGIN.top, chart.log);
  const bottom = height - MARGIN.bottom;
  for (const tick of y.ticks(5)) {
    root.append(
      svg("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(tick), y2: y(tick) }),
      svg("text", { x: MARGIN.left - 8, y: y(tick) + 4, "text-anchor": "end" }, chart.yTick(tick)),
    );
  }
  for (const tick of x.ticks(Math.max(2, Math.floor(width / 75)))) {
    root.append(
      svg("line", { class: "axis", x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 5 }),
      svg("text", { x: x(tick), y: bottom + 19, "text-anchor": "middle" }, chart.xText(tick)),
    );
  }
  root.append(
    svg("line", { class: "axis", x1: MARGIN.left, x2: width - MARGIN.right, y1: bottom, y2: bottom }),
    svg("text", { x: (MARGIN.left + width - MARGIN.right) / 2, y: height - 6, "text-anchor": "middle" }, chart.xLabel),
    svg("text", { x: 0, y: 0, "text-anchor": "middle", transform: `translate(13 ${(MARGIN.top + bottom) / 2}) rotate(-90)` }, chart.yLabel),
  );
  if (chart.target !== undefined && chart.target > yLow && chart.target < yHigh) {
    root.append(svg("line", { class: "target", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(chart.target), y2: y(chart.target) }));
  }
  const place = (px, py) => `${px.toFixed(1)} ${py.toFixed(1)}`;
  for (const series of usable) {
    const points = series.points;
    if (points.some((point) => point.seeds > 1)) {
      const upper = points.map((point) => place(x(point.x), y(point.high)));
      const lower = points.map((point) => place(x(point.x), y(floor(point)))).reverse();
      root.append(svg("path", { class: `band ${colourClass(series.index)}`, d: `M${[...upper, ...lower].join("L")}Z` }));
    }
  }
  for (const series of usable) {
    const d = series.points.map((point) => place(x(point.x), y(point.y)));
    if (!d.length) continue;
    const [one] = series.points;
    if (d.length === 1) root.append(svg("circle", { class: colourClass(series.index), cx: x(one.x), cy: y(one.y), r: 3.5 }));
    else root.append(svg("path", { class: `line ${colourClass(series.index)}`, fill: "none", d: `M${d.join("L")}`, "stroke-dasharray": dash(series.index), "data-label": series.label }));
  }
  const cross = svg("line", { class: "cross", y1: MARGIN.top, y2: bottom, visibility: "hidden" });
  root.append(cross);
  const longest = usable.reduce((a, b) => (b.points.length > a.points.length ? b : a));
  return { node: root, chart: shown, stops: longest.points.map((point) => point.x), x, width, cross };
}

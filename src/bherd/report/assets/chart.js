// A line chart in SVG: lines with bands, a cross-hair for mouse, touch and arrow keys.

function swatch(index) {
  return svg(
    "svg",
    { class: "swatch", width: 26, height: 10, viewBox: "0 0 26 10", "aria-hidden": true },
    svg("line", { class: colourClass(index), x1: 1, x2: 25, y1: 5, y2: 5, "stroke-width": 2.6, "stroke-dasharray": dash(index) }),
  );
}

// `describe()` gives { series: [{ label, index, points }], xLabel, yLabel, xText, yText, yTick, halfText, log, singles, bounds, target, reference }.
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

// What each series has at x: the values of its nearest point, or where it ended.
function readings(chart, x) {
  const rows = [];
  for (const series of chart.series) {
    const { points, label, index } = series;
    if (!points.length) continue;
    let best = points[0];
    for (const point of points) {
      if (Math.abs(point.x - x) < Math.abs(best.x - x)) best = point;
    }
    const last = points.length - 1;
    const spacing = last > 0 ? (points[last].x - points[0].x) / last : Infinity;
    if (x > points[last].x + spacing) rows.push({ label, index, value: -Infinity, text: `ended at ${chart.xText(points[last].x)}` });
    else rows.push({ label, index, value: best.y, text: reading(chart, series, best) });
  }
  return rows.sort((a, b) => b.value - a.value);
}

function reading(chart, series, point) {
  const few = point.seeds < series.seeds ? `, ${point.seeds} of ${series.seeds} seeds` : "";
  if (point.low === null) return chart.yText(point.y) + few;
  const spread = chart.log ? `(${chart.yText(point.low)} – ${chart.yText(point.high)})` : `± ${chart.halfText(point.high - point.y)}`;
  return `${chart.yText(point.y)} ${spread}${few}`;
}

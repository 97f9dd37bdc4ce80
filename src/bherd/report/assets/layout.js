// The picture of a line chart: axes, bands, lines, and the curves of single seeds where they are wanted.

const MARGIN = { top: 10, right: 12, bottom: 42, left: 58 };
const BAND_ROOM = 0.3;

// The heights that must be seen: every line, and of a wide band as much as leaves the lines readable.
function heights(chart) {
  const of = (value) => (chart.log ? Math.log(value) : value);
  const fixed = chart.reference === undefined ? [] : [{ y: chart.reference }];
  const lines = chart.series.flatMap((series) => [...series.points, ...(chart.singles ? series.singles.flat() : [])]);
  const [low, high] = extent([...fixed, ...lines].map((point) => of(point.y)));
  const ends = chart.series.flatMap((series) => series.points.filter((point) => point.low !== null).flatMap((point) => [of(point.low), of(point.high)]));
  const [least, most] = extent(ends);
  const room = BAND_ROOM * (high - low || Math.abs(high) || 1);
  const back = chart.log ? Math.exp : (value) => value;
  const range = [Math.min(low, Math.max(least, low - room)), Math.max(high, Math.min(most, high + room))].map(back);
  const [floor, ceiling] = chart.bounds || [-Infinity, Infinity];
  const [from, to] = padded(range, chart.log);
  return [low < floor ? from : Math.max(from, floor), high > ceiling ? to : Math.min(to, ceiling)];
}

// Runs of neighbours that have an interval: where only one seed is left there is no band.
function bandParts(points) {
  const parts = [];
  let open = false;
  for (const point of points) {
    if (point.low === null) open = false;
    else if (open) parts[parts.length - 1].push(point);
    else {
      parts.push([point]);
      open = true;
    }
  }
  return parts.filter((part) => part.length > 1);
}

function drawAxes(root, chart, x, y, width, height) {
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
}

function drawSeries(root, chart, x, y, [yLow, yHigh]) {
  const inside = (value) => Math.max(yLow, Math.min(yHigh, value));
  const place = (px, py) => `${px.toFixed(1)} ${py.toFixed(1)}`;
  const line = (points) => `M${points.map((point) => place(x(point.x), y(point.y))).join("L")}`;
  for (const series of chart.series) {
    for (const part of bandParts(series.points)) {
      const upper = part.map((point) => place(x(point.x), y(inside(point.high))));
      const lower = part.map((point) => place(x(point.x), y(inside(point.low)))).reverse();
      root.append(svg("path", { class: `band ${colourClass(series.index)}`, d: `M${[...upper, ...lower].join("L")}Z`, "data-label": series.label }));
    }
  }
  for (const series of chart.singles ? chart.series : []) {
    if (series.singles.length < 2) continue;
    for (const points of series.singles.filter((one) => one.length > 1)) {
      root.append(svg("path", { class: `single ${colourClass(series.index)}`, d: line(points), "data-label": series.label }));
    }
  }
  for (const series of chart.series) {
    const [one] = series.points;
    if (series.points.length === 1) root.append(svg("circle", { class: colourClass(series.index), cx: x(one.x), cy: y(one.y), r: 3.5 }));
    else if (one) root.append(svg("path", { class: `line ${colourClass(series.index)}`, d: line(series.points), "stroke-dasharray": dash(series.index), "data-label": series.label }));
  }
}

// Where the cross-hair can stand: at the points of the longest series, and at those of others beyond its ends.
function stopsOf(all) {
  const longest = all.reduce((a, b) => (b.points.length > a.points.length ? b : a)).points;
  const [first, last] = [longest[0].x, longest[longest.length - 1].x];
  const beyond = all.flatMap((series) => series.points.map((point) => point.x)).filter((at) => at < first || at > last);
  return [...new Set([...longest.map((point) => point.x), ...beyond])].sort((a, b) => a - b);
}

function layout(chart, width, height, name) {
  const all = chart.series.flatMap((series) => series.points);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": name });
  if (!all.length) {
    root.append(svg("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, "Nothing to draw: no method is shown, or nothing was measured."));
    return { node: root, chart, stops: [], x: () => 0, width, cross: null };
  }
  const [xLow, xHigh] = extent(all.map((point) => point.x));
  const range = heights(chart);
  const bottom = height - MARGIN.bottom;
  const x = makeScale(xLow, xHigh === xLow ? xLow + 1 : xHigh, MARGIN.left, width - MARGIN.right, false);
  const y = makeScale(...range, bottom, MARGIN.top, chart.log);
  drawAxes(root, chart, x, y, width, height);
  for (const at of [chart.target, chart.reference]) {
    if (at > range[0] && at < range[1]) root.append(svg("line", { class: "target", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(at), y2: y(at) }));
  }
  drawSeries(root, chart, x, y, range);
  const cross = svg("line", { class: "cross", y1: MARGIN.top, y2: bottom, visibility: "hidden" });
  root.append(cross);
  return { node: root, chart, stops: stopsOf(chart.series), x, width, cross };
}

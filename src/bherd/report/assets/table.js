// The table of results; the target can be moved and the table follows.

const PARTS = ["local", "select", "aggregate", "evaluate"];
const PART_NAMES = { local: "training", select: "selection", aggregate: "aggregation", evaluate: "evaluation" };

// Where a run first has at least the target accuracy: its position in the curve, or -1.
function reachedAt(run) {
  return run.curve.test_accuracy.findIndex((value) => value !== null && value >= state.target - 1e-12);
}

// Median and range over the runs; one that never gets there counts as longer than any.
function toTarget(series, key, text) {
  if (task().own) return ["no target"];
  const runs = runsOf(series);
  const firsts = runs.map((run) => (reachedAt(run) < 0 ? Infinity : run.curve[key][reachedAt(run)])).sort((a, b) => a - b);
  const hits = firsts.filter(Number.isFinite);
  if (!hits.length) return ["never"];
  const missed = runs.length - hits.length;
  const middle = runs.length >> 1;
  const median = runs.length % 2 ? firsts[middle] : (firsts[middle - 1] + firsts[middle]) / 2;
  const [low, high] = extent(hits);
  if (missed) return [`not in ${missed} of ${plural(runs.length, "seed")}`, Number.isFinite(median) ? `median ${text(median)}` : null, `${text(low)} at best`];
  return [text(median), low < high ? `${text(low)} – ${text(high)}` : null];
}

function finalCell(series) {
  if (series.final_mean === null) return ["not measured"];
  const all = plural(series.runs.length, "seed");
  const seeds = series.final_runs < series.runs.length ? `${series.final_runs} of ${all}` : all;
  const half = series.final_half_width;
  const spread = half === null ? seeds : `± ${task().own ? significant(half, 3) : (100 * half).toFixed(2)} (${seeds})`;
  return [task().own ? significant(series.final_mean, 4) : percent(series.final_mean), spread];
}

function endedCell(series) {
  const runs = runsOf(series);
  const diverged = runs.filter((run) => run.diverged_at !== null);
  if (diverged.length) return [`${diverged.length} of ${runs.length}`, `round ${diverged.map((run) => run.diverged_at).join(", ")}`];
  const open = runs.filter((run) => run.status !== "complete").length;
  return ["no", open ? `${open} unfinished` : null];
}

function timeCell(series) {
  const runs = runsOf(series);
  const parts = PARTS.map((part) => mean(runs.map((run) => run.split[part])));
  const total = parts.reduce((a, b) => a + b, 0) || 1;
  const words = PARTS.map((part, i) => `${PART_NAMES[part]} ${seconds(parts[i])}`).join(", ");
  const bar = el("div", { class: "split", role: "img", "aria-label": words, title: words });
  parts.forEach((part, i) => {
    const piece = el("i", { class: `part${i}` });
    piece.style.width = `${(100 * part) / total}%`;
    bar.append(piece);
  });
  return el("div", null, seconds(total), el("small", null, PARTS.map((part, i) => `${PART_NAMES[part]} ${Math.round((100 * parts[i]) / total)}%`).join(", ")), bar);
}

function memoryCell(series) {
  const known = runsOf(series).map((run) => run.peak_memory_bytes).filter((value) => value !== null);
  return known.length ? [bytes(Math.max(...known))] : ["not measured"];
}

function finalName() {
  return task().own ? "Final metric" : "Final accuracy";
}

const COLUMNS = [
  [finalName, finalCell],
  ["Rounds to target", (series) => toTarget(series, "round", (value) => significant(value, 4))],
  ["Seconds to target", (series) => toTarget(series, "seconds", seconds)],
  ["Uplink to target", (series) => toTarget(series, "uplink_bytes", bytes)],
  ["Diverged", endedCell],
  ["Time per run", timeCell],
  ["Peak memory", memoryCell],
];

function cell(name, content) {
  const inner = content instanceof Node ? content : el("div", null, content[0], content.slice(1).filter(Boolean).map((line) => el("small", null, line)));
  return el("td", { role: "cell", "data-label": name }, inner);
}

function drawTable() {
  const rows = task().series.map((series) =>
    el(
      "tr",
      { role: "row", class: state.hidden.has(series.label) ? "off" : null },
      el("th", { scope: "row", role: "rowheader" }, el("span", { class: "key" }, swatch(methodIndex(series.label)), series.label)),
      COLUMNS.map(([name, make]) => cell(name === finalName ? name() : name, make(series))),
    ),
  );
  byId("numbers-body").replaceChildren(...rows);
  byId("final-heading").textContent = finalName();
}

function buildTable(onTarget) {
  const input = el("input", { type: "number", id: "target", min: 0, max: 100, step: 0.1, "aria-describedby": "target-help" });
  const read = () => {
    const value = Number(input.value);
    if (input.value !== "" && value >= 0 && value <= 100) {
      state.target = value / 100;
      drawTable();
      onTarget();
    }
  };
  input.addEventListener("input", read);
  byId("table").append(
    el(
      "div",
      { class: "controls" },
      el("label", { for: "target" }, "Target accuracy", input, "%"),
      el("span", { class: "hint", id: "target-help" }, "At first the highest whole percent that every method ends at, ignoring methods that diverged or end more than 10% below the best. What it took to get there: median and range over the seeds."),
    ),
    el(
      "div",
      { class: "card numbers-card" },
      el("div", { class: "ramp" }, el("span", null, "Time per run:"), PARTS.map((part, i) => el("span", null, el("span", { class: `part${i}` }), PART_NAMES[part]))),
      el(
        "table",
        { class: "numbers", role: "table", "aria-label": "Results by method" },
        el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, ["Method", ...COLUMNS.map(([name]) => name)].map((name) => el("th", { scope: "col", role: "columnheader", id: name === finalName ? "final-heading" : null }, name === finalName ? name() : name)))),
        el("tbody", { id: "numbers-body", role: "rowgroup" }),
      ),
    ),
  );
  return () => {
    input.closest(".controls").hidden = task().own;
    input.value = String(Number((100 * state.target).toPrecision(6)));
    drawTable();
  };
}

// The report's data, and the state of the page.

const report = JSON.parse(byId("report-data").textContent);

const AXES = [
  { key: "round", name: "Round" },
  { key: "seconds", name: "Seconds" },
  { key: "uplink_bytes", name: "Uplink bytes" },
];
const COLOURS = 7;
const DASHES = ["", "9 4", "2.5 2.5", "10 3 2 3", "5 3", "7 2", "14 4 4 4", "3 5"];

const state = { task: 0, hidden: new Set(), axis: 0, log: false, singles: false, loss: "train_loss", target: 0.5 };

function task() {
  return report.tasks[state.task];
}

// An own task's metric is no share, and nobody knows whether more of it is better.
function metricName() {
  return task().own ? "Own metric" : "Test accuracy";
}

function methodIndex(label) {
  return report.methods.indexOf(label);
}

function colourClass(index) {
  return `c${index % COLOURS}`;
}

function dash(index) {
  return DASHES[((index % COLOURS) + 3 * Math.floor(index / COLOURS)) % DASHES.length];
}

function visibleSeries() {
  return task().series.filter((series) => !state.hidden.has(series.label));
}

function runsOf(series) {
  return series.runs.map((index) => report.runs[index]);
}

// All runs of the task with a part of the report (heat maps, snapshots), as options of a select.
function runOptions(has) {
  const options = [];
  for (const series of task().series) {
    for (const run of runsOf(series)) {
      if (has(run)) options.push({ label: `${series.label}, seed ${run.seed}`, run, series });
    }
  }
  return options;
}

const KINDS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array };
function decode(text, kind) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
  return new KINDS[kind](bytes.buffer);
}

function curveOf(series, key) {
  const axis = AXES[state.axis].key;
  return averaged(series, (run) => ({ x: run.curve[axis], y: run.curve[key], round: run.curve.round }), state.log);
}

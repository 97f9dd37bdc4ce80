// Means over seeds and their 95% Student intervals. The quantiles come with the data, so that the page and the
// library take the same ones: `report.student[n]` is that of n seeds.

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

// { y, low, high, seeds }; one seed has no interval. With `log`, the mean is geometric and the interval is that
// of the logarithms, as a logarithmic axis shows them.
function interval(values, log) {
  const on = log ? values.map(Math.log) : values;
  const back = log ? Math.exp : (value) => value;
  const seeds = values.length;
  const middle = mean(on);
  if (seeds < 2) return { y: back(middle), low: null, high: null, seeds };
  const variance = on.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (seeds - 1);
  const half = report.student[seeds] * Math.sqrt(variance / seeds);
  return { y: back(middle), low: back(middle - half), high: back(middle + half), seeds };
}

// A series as a chart draws it: `points` with the mean of the seeds that have a value in a round, and the
// curve of each seed in `singles`. What is not positive has no place on a log scale.
function averaged(series, valuesOf, log) {
  const rounds = new Map();
  const singles = [];
  for (const run of runsOf(series)) {
    const { x, y, round } = valuesOf(run);
    const single = [];
    for (let i = 0; i < round.length; i += 1) {
      if (y[i] === null || y[i] === undefined || (log && y[i] <= 0)) continue;
      let found = rounds.get(round[i]);
      if (!found) rounds.set(round[i], (found = { xs: [], ys: [] }));
      found.xs.push(x[i]);
      found.ys.push(y[i]);
      single.push({ x: x[i], y: y[i] });
    }
    singles.push(single);
  }
  const order = [...rounds.keys()].sort((a, b) => a - b);
  const points = order.map((round) => {
    const { xs, ys } = rounds.get(round);
    return { x: mean(xs), ...interval(ys, log) };
  });
  return { label: series.label, index: methodIndex(series.label), seeds: series.runs.length, points, singles };
}

// What the lines and bands of this page are, in the words of its header and of saved pictures.
function spreadWords(all, log) {
  const counts = all.map((series) => series.seeds);
  const [low, high] = counts.length ? extent(counts) : [0, 0];
  if (high < 2) return null;
  const kind = log ? "Geometric mean and 95% Student interval" : "Mean and 95% Student interval of the mean";
  return `${kind} over ${low === high ? high : `${low} to ${high}`} seeds`;
}

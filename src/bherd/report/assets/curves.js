// Loss and accuracy, by round, by seconds or by bytes.

const CSV_HEADER = ["method", "seed", "round", "seconds", "uplink_bytes", "train_loss", "test_loss", "test_accuracy"];

function curveRows() {
  const rows = [];
  for (const series of visibleSeries()) {
    for (const run of runsOf(series)) {
      const c = run.curve;
      c.round.forEach((round, i) => rows.push([series.label, run.seed, round, c.seconds[i], c.uplink_bytes[i], c.train_loss[i], c.test_loss[i], c.test_accuracy[i]]));
    }
  }
  return rows;
}

function describeCurve(key) {
  const axis = AXES[state.axis];
  const metric = key === "test_accuracy";
  const accuracy = metric && !task().own;
  return {
    series: visibleSeries().map((series) => curveOf(series, key)),
    xLabel: axis.name,
    yLabel: { test_accuracy: metricName(), train_loss: "Training loss", test_loss: "Test loss" }[key],
    xText: (value) => onAxis(value, axis.key),
    yText: (value) => (accuracy ? percent(value) : significant(value, 4)),
    yTick: (value) => (accuracy ? `${Number((100 * value).toPrecision(4))}%` : significant(value, 3)),
    halfText: (value) => (accuracy ? (100 * value).toFixed(2) : significant(value, 2)),
    log: state.log,
    singles: state.singles,
    bounds: [0, accuracy ? 1 : Infinity],
    target: accuracy ? state.target : undefined,
  };
}

function buildCurves(onSingles) {
  const accuracy = lineChart({ id: "accuracy-chart", name: "Test accuracy", describe: () => describeCurve("test_accuracy") });
  const loss = lineChart({ id: "loss-chart", name: "Loss", describe: () => describeCurve(state.loss) });
  const accuracyCard = chartCard("Accuracy on test data", "accuracy", accuracy, CSV_HEADER, curveRows);
  const draw = () => {
    accuracyCard.querySelector("h3").textContent = task().own ? "The task's own metric, on test data" : "Accuracy on test data";
    accuracy.draw();
    loss.draw();
  };
  byId("curves").append(
    el("p", { class: "hint" }, "The dotted line is the target of the table. On a log scale, means and intervals are those of the logarithms. Point at a chart or tap it to read its values, or focus it and use the arrow keys."),
    el(
      "div",
      { class: "controls" },
      segments("Against", "axis", AXES.map((axis) => axis.name), state.axis, (i) => {
        state.axis = i;
        draw();
      }),
      segments("Loss", "loss", ["Training", "Test"], 0, (i) => {
        state.loss = ["train_loss", "test_loss"][i];
        loss.draw();
      }),
      checkbox("Log scale", state.log, (on) => {
        state.log = on;
        draw();
      }, "log-scale"),
      checkbox("Single seeds", state.singles, (on) => {
        state.singles = on;
        draw();
        onSingles();
      }, "single-seeds"),
    ),
    el(
      "div",
      { class: "pair" },
      accuracyCard,
      chartCard("Loss", "loss", loss, CSV_HEADER, curveRows),
    ),
  );
  return draw;
}

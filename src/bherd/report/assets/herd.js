// Which gradients were kept, how far their mean is from the mean of all, and which labels they carry.

const PAGE = 10;

function distanceChart() {
  const local = { log: false };
  const chart = lineChart({
    id: "distance-chart",
    name: "Distance of the kept mean from the mean of all, as a multiple of a random share's",
    describe: () => ({
      series: visibleSeries()
        .filter((series) => !runsOf(series)[0].keeps_everything)
        .map((series) => averaged(series, (run) => ({ x: run.distance.round, y: run.distance.relative, round: run.distance.round }), local.log)),
      xLabel: "Round",
      yLabel: "Distance, a random share = 1",
      xText: (value) => significant(value, 6),
      yText: (value) => significant(value, 4),
      yTick: (value) => significant(value, 3),
      halfText: (value) => significant(value, 2),
      log: local.log,
      singles: state.singles,
      reference: 1,
      bounds: [0, Infinity],
    }),
  });
  const rows = () =>
    visibleSeries().flatMap((series) => runsOf(series).flatMap((run) => run.distance.round.map((round, i) => [series.label, run.seed, round, run.distance.relative[i]])));
  const card = chartCard("Distance of the kept mean from the full mean", "distance", chart, ["method", "seed", "round", "distance_over_random"], rows);
  card.append(el("p", { class: "readout" }, "How far the mean of the kept gradients is from the mean of all, divided by how far that of as many random ones would be: the dotted line at 1 is chance. So shrinking gradients do not count as progress. Root mean square over the clients of a round; methods that keep everything have none."));
  const log = checkbox("Log scale", false, (on) => {
    local.log = on;
    chart.draw();
  });
  log.className = "field";
  card.querySelector(".actions").prepend(log);
  return { card, draw: chart.draw };
}

function labelBars(client, dropped) {
  const classes = client.visited.length;
  const held = client.visited.reduce((a, b) => a + b, 0) || 1;
  const taken = client.kept.reduce((a, b) => a + b, 0) || 1;
  const shares = client.visited.map((count, i) => [count / held, client.kept[i] / taken]);
  const most = Math.max(...shares.flat(), 0.01);
  const [width, height, base] = [200, 92, 78];
  const slot = width / classes;
  const root = svg("svg", { class: "bars", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Client ${client.client}: ${shares.map(([a, b], i) => `label ${i}: ${percent(a, 0)} held, ${percent(b, 0)} of kept`).filter((_, i) => client.visited[i]).slice(0, 12).join("; ")}` });
  shares.forEach(([a, b], i) => {
    const words = `label ${i}: ${percent(a, 1)} of the samples visited, ${percent(b, 1)} of those kept`;
    root.append(
      svg("rect", { class: dropped.has(i) ? "dropped" : "taken", x: i * slot + slot * 0.22, width: slot * 0.56, y: base - (68 * b) / most, height: (68 * b) / most }, svg("title", null, words)),
      svg("rect", { class: "held", x: i * slot + slot * 0.1, width: slot * 0.8, y: base - (68 * a) / most, height: (68 * a) / most }, svg("title", null, words)),
    );
    if (classes <= 12) root.append(svg("text", { x: (i + 0.5) * slot, y: height - 2, "text-anchor": "middle" }, i));
  });
  return el("figure", null, el("figcaption", null, `Client ${client.client}`), root);
}

function fairnessPart(run, first) {
  const fair = run.fairness;
  if (!fair) return el("p", { class: "empty" }, `The labels of the kept samples cannot be counted: ${run.federation.why_not || "the partition of this run is missing or does not fit its ledger"}.`);
  const warned = fair.dropped.slice(0, 8).map((d) => el("li", null, `Client ${d.client} keeps label ${d.label} at ${percent(d.rate, 0)} of its usual rate, below it in ${percent(d.rounds_below, 0)} of the rounds.`));
  const more = fair.dropped.length > 8 ? el("li", null, `… and ${fair.dropped.length - 8} more.`) : null;
  const parts = fair.clients.slice(first, first + PAGE).map((client) => labelBars(client, new Set(fair.dropped.filter((d) => d.client === client.client).map((d) => d.label))));
  const rule = `A class counts as dropped if it is kept at less than 80% of its client's usual rate, below that rate in three quarters of the rounds, and further below than chance explains over all clients and classes. A random share of the same size would raise ${significant(fair.by_chance, 2)} on average.`;
  const tested = fair.tested < fair.clients.length ? ` ${fair.tested} of ${plural(fair.clients.length, "client")} took part in the ${fair.fewest_rounds} rounds that this needs.` : "";
  const calm = fair.tested ? `No class is systematically dropped. ${rule}${tested}` : `Whether classes are dropped cannot be told: no client shown here took part in ${fair.fewest_rounds} rounds that were looked at.`;
  return el(
    "div",
    null,
    warned.length
      ? el("div", { class: "warning", role: "note" }, el("strong", null, "Selection drops classes: "), `${fair.dropped.length} in all. ${rule}${tested}`, el("ul", null, warned, more))
      : el("p", { class: "hint" }, calm),
    el("div", { class: "maps" }, parts),
  );
}

// Who has no map because of never having taken part.
function absentWords({ absent, all_clients: present }) {
  if (!absent.length) return "";
  const named = absent.slice(0, 20).join(", ") + (absent.length > 20 ? ", …" : "");
  return ` ${absent.length} of ${plural(absent.length + present, "client")} never took part: ${named}.`;
}

function buildHerd() {
  const say = el("p", { class: "readout", "aria-live": "polite", id: "herd-readout" }, "Point at a cell or tap it, or focus a map and use the arrow keys, to read its rank.");
  const body = el("div", { class: "stack" });
  const distance = distanceChart();
  byId("herd").append(el("p", { class: "hint" }, "Every client trains some local steps per round; a selector keeps some of their gradients."), body);
  const local = { option: 0, first: 0 };
  let options = [];

  function maps() {
    const { run, label } = options[local.option];
    const { herd } = run;
    const end = Math.min(local.first + PAGE, herd.clients.length);
    const away = herd.clients.some((client) => sitsOut(herd, client));
    const shown = herd.clients.slice(local.first, end);
    const turn = (by, name) => el("button", { type: "button", disabled: local.first + by < 0 || local.first + by >= herd.clients.length, onclick: () => { local.first += by; draw(); } }, name);
    const pager = herd.clients.length > PAGE ? [turn(-PAGE, "Earlier clients"), turn(PAGE, "Later clients")] : [];
    return [
      el(
        "div",
        { class: "controls" },
        choice("Run", options.map((option) => option.label), local.option, (i) => {
          local.option = i;
          local.first = 0;
          draw();
          byId("herd-run").focus();
        }, "herd-run"),
        pager,
      ),
      el(
        "div",
        { class: "card" },
        el("div", { class: "card-head" }, el("h3", null, "Kept steps, round by round"), el("span", { class: "ramp" }, el("span", null, "kept first", el("span", { class: "bar-ramp" }), "kept last"), el("span", null, el("span", { class: "out" }), "left out"), away ? el("span", null, el("span", { class: "away" }), "sat out") : null)),
        el("p", { class: "hint" }, `${label}: rounds ${herd.rounds[0]} to ${herd.rounds[herd.rounds.length - 1]} from left to right${herd.rounds.length < herd.all_rounds ? ` (${herd.rounds.length} of ${herd.all_rounds}, evenly spread)` : ""}, local steps from top to bottom.${absentWords(herd)}`),
        el("div", { class: "maps" }, shown.map((client) => heatMap(herd, client, (text) => { say.textContent = text; }))),
        say,
      ),
      el(
        "div",
        { class: "card" },
        el("div", { class: "card-head" }, el("h3", null, "Labels: kept against visited"), el("span", { class: "ramp" }, el("span", null, el("span", { class: "held" }), "share of samples visited"), el("span", null, el("span", { class: "taken" }), "share of samples kept"))),
        fairnessPart(run, local.first),
      ),
    ];
  }

  function draw() {
    options = runOptions((run) => run.herd !== null);
    if (local.option >= options.length) local.option = 0;
    if (options.length) body.replaceChildren(...maps(), distance.card);
    else {
      const all = task().series.every((series) => runsOf(series).every((run) => run.keeps_everything));
      body.replaceChildren(el("p", { class: "empty" }, all ? "The methods here keep every gradient, so there is no selection to look at." : "No selection ledger was recorded for these runs."), distance.card);
    }
    distance.draw();
  }
  return { draw, drawDistance: distance.draw };
}

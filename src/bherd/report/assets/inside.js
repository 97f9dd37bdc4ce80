// One client in one round: its gradients in a plane, what any alpha keeps, and the distance it leaves.

const PAD = 26;
const RANDOM = 6;

// The size of a drawing in its card, so that text keeps its size on a phone.
function roomIn(node) {
  const width = Math.max(260, node.clientWidth || 520);
  return { width, height: Math.round(Math.min(400, Math.max(260, 0.77 * width))) };
}

function unpack(shot) {
  return {
    x: decode(shot.x, "f4"),
    y: decode(shot.y, "f4"),
    distance: decode(shot.distance, "f4"),
    order: [...decode(shot.order, "u4")],
    ran: [...decode(shot.kept, "u4")],
    explained: shot.explained,
    spread: shot.spread,
  };
}

// max(1, floor(alpha * steps + 1/2)) for alpha in whole percent, in whole numbers.
function keptCount(hundredths, steps) {
  return Math.max(1, Math.floor((2 * hundredths * steps + 100) / 200));
}

// How far the mean of `count` gradients at random is from the mean of all: root mean square.
function randomDistance(shot, count) {
  return shot.spread === null ? null : shot.spread * Math.sqrt(Math.max(0, 1 / count - 1 / shot.order.length));
}

function planeWords(shot, count) {
  const [first, second] = shot.explained;
  const held = first === null ? "" : `The plane holds ${percent(first + (second || 0), 0)} of the variance. `;
  const random = randomDistance(shot, count);
  const beside = random === null ? "" : `, that of ${count} at random ${significant(count * random, 3)} (root mean square)`;
  return `${held}In all dimensions the running sum is ${significant(count * shot.distance[count - 1], 3)} long${beside}.`;
}

function runningSum(shot, count) {
  const path = [[0, 0]];
  for (const step of shot.order.slice(0, count)) {
    const [x, y] = path[path.length - 1];
    path.push([x + shot.x[step], y + shot.y[step]]);
  }
  return path;
}

function drawPlane(shot, count, { width, height }) {
  const kept = new Set(shot.order.slice(0, count));
  const whole = runningSum(shot, shot.order.length);
  const [xLow, xHigh] = padded(extent([...shot.x, ...whole.map((p) => p[0])]), false);
  const [yLow, yHigh] = padded(extent([...shot.y, ...whole.map((p) => p[1])]), false);
  const x = makeScale(xLow, xHigh, PAD + 14, width - 8, false);
  const y = makeScale(yLow, yHigh, height - PAD - 8, 8, false);
  const root = svg("svg", { class: "scatter", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Gradients in the plane of their first two principal components: ${kept.size} of ${shot.order.length} kept` });
  const share = (i) => (shot.explained[i] === null ? "" : ` (${percent(shot.explained[i], 0)} of the variance)`);
  root.append(
    svg("line", { class: "grid", x1: x(0), x2: x(0), y1: y(yLow), y2: y(yHigh) }),
    svg("line", { class: "grid", x1: x(xLow), x2: x(xHigh), y1: y(0), y2: y(0) }),
    svg("text", { x: width / 2, y: height - 6, "text-anchor": "middle" }, `first component${share(0)}`),
    svg("text", { "text-anchor": "middle", transform: `translate(13 ${height / 2}) rotate(-90)` }, `second component${share(1)}`),
  );
  const path = whole.slice(0, count + 1).map((p) => `${x(p[0]).toFixed(1)} ${y(p[1]).toFixed(1)}`);
  for (let step = 0; step < shot.x.length; step += 1) {
    const rank = shot.order.indexOf(step) + 1;
    const words = kept.has(step) ? `step ${step}: kept as the ${ordinal(rank)}` : `step ${step}: left out (${ordinal(rank)} in the order)`;
    root.append(svg("circle", { class: kept.has(step) ? "kept" : "left-out", "data-step": step, cx: x(shot.x[step]), cy: y(shot.y[step]), r: kept.has(step) ? 6 : 4.5 }, svg("title", null, words)));
  }
  const end = whole[count];
  root.append(
    svg("path", { class: "path", d: `M${path.join("L")}` }),
    svg("circle", { class: "path-end", cx: x(end[0]), cy: y(end[1]), r: 4 }),
    svg("path", { class: "mean", d: `M${x(0) - 7} ${y(0)}h14M${x(0)} ${y(0) - 7}v14` }, svg("title", null, "the mean of all gradients")),
  );
  return root;
}

function drawDistances(shot, count, { width, height }) {
  const points = (values) => values.map((value, i) => ({ x: i + 1, y: value, low: null, high: null, seeds: 1 }));
  const random = shot.spread === null ? [] : [...shot.distance].map((_, i) => randomDistance(shot, i + 1));
  const drawn = layout(
    {
      series: [
        { label: "herding", index: 0, points: points([...shot.distance]) },
        { label: "random", index: RANDOM, points: points(random) },
      ],
      xLabel: "Gradients kept, in herding order",
      yLabel: "Distance from the mean",
      xText: (value) => significant(value, 4),
      yTick: (value) => significant(value, 3),
      log: false,
      bounds: [0, Infinity],
    },
    width,
    height,
    "Distance of the kept mean from the full mean at every number of kept gradients",
  );
  drawn.cross.setAttribute("visibility", "visible");
  drawn.cross.setAttribute("x1", drawn.x(count));
  drawn.cross.setAttribute("x2", drawn.x(count));
  return drawn.node;
}

function slider(id, name, low, high, value, onInput) {
  const output = el("output", { for: id });
  const input = el("input", { type: "range", id, min: low, max: high, step: 1, value: String(value), oninput: () => onInput(Number(input.value)) });
  input.value = String(value);
  return { node: el("div", { class: "slider" }, el("span", null, el("label", { for: id }, name), output), input), input, output };
}

function startAlpha(run) {
  return run.alpha === null ? 50 : Math.round(100 * run.alpha);
}

function buildInside() {
  const body = el("div", { class: "stack" });
  const local = { option: 0, round: 0, client: 0, alpha: null };
  byId("inside").append(
    el("p", { class: "hint" }, "The greedy order is nested: what a smaller α keeps is the beginning of what a larger one keeps. Move α to see what herding would have kept of these very gradients."),
    body,
  );

  function draw() {
    const options = runOptions((run) => run.snapshots !== null);
    if (!options.length) {
      body.replaceChildren(el("p", { class: "empty" }, "No snapshots were taken in these runs. Run with --snapshot-every 10 to look inside every tenth round."));
      return;
    }
    if (local.option >= options.length) local.option = 0;
    const { run, label } = options[local.option];
    const { rounds } = run.snapshots;
    if (local.alpha === null) local.alpha = startAlpha(run);
    local.round = Math.min(local.round, rounds.length - 1);
    const clients = [...new Set(rounds.flatMap((one) => one.shots.map((shot) => shot.client)))].sort((a, b) => a - b);
    if (!clients.includes(local.client)) [local.client] = clients;
    const plane = el("div", { class: "plot picture", id: "plane" });
    const curve = el("div", { class: "plot picture" });
    const words = el("p", { class: "readout", id: "inside-readout", "aria-live": "polite" });
    const list = el("p", { class: "readout", id: "inside-kept" });
    const plain = el("p", { class: "readout", id: "inside-plane" });

    function update() {
      const found = rounds[local.round].shots.find((one) => one.client === local.client);
      round.output.textContent = String(rounds[local.round].round);
      round.input.setAttribute("aria-valuetext", `round ${rounds[local.round].round}`);
      if (!found) {
        alpha.output.textContent = (local.alpha / 100).toFixed(2);
        plane.replaceChildren();
        curve.replaceChildren();
        words.textContent = `Client ${local.client} sat out in round ${rounds[local.round].round}.`;
        list.textContent = "";
        plain.textContent = "";
        return;
      }
      const shot = unpack(found);
      const steps = shot.order.length;
      const count = keptCount(local.alpha, steps);
      alpha.output.textContent = `${(local.alpha / 100).toFixed(2)} keeps ${count} of ${steps}`;
      alpha.input.setAttribute("aria-valuetext", alpha.output.textContent);
      plane.replaceChildren(drawPlane(shot, count, roomIn(plane)));
      curve.replaceChildren(drawDistances(shot, count, roomIn(curve)));
      const same = shot.ran.length === count && shot.order.slice(0, count).every((step) => shot.ran.includes(step));
      const random = randomDistance(shot, count);
      const beside = random ? ` That is ${significant(shot.distance[count - 1] / random, 2)} of a random share's.` : "";
      words.textContent = `${label}, client ${local.client}, round ${rounds[local.round].round}. Distance from the mean at this α: ${significant(shot.distance[count - 1], 4)}.${beside} The run itself kept ${shot.ran.length} of ${steps} in this round${same ? ": exactly these" : ""}.`;
      plain.textContent = planeWords(shot, count);
      list.textContent = `Kept steps in order: ${shot.order.slice(0, count).join(", ")}`;
    }

    const round = slider("round-slider", "Round", 0, rounds.length - 1, local.round, (value) => { local.round = value; update(); });
    const alpha = slider("alpha-slider", "Share α", 1, 100, local.alpha, (value) => { local.alpha = value; update(); });
    body.replaceChildren(
      el(
        "div",
        { class: "controls" },
        choice("Run", options.map((option) => option.label), local.option, (i) => { local.option = i; local.alpha = null; draw(); byId("inside-run").focus(); }, "inside-run"),
        choice("Client", clients.map((client) => `client ${client}`), clients.indexOf(local.client), (i) => { local.client = clients[i]; update(); }, "inside-client"),
      ),
      el("div", { class: "sliders" }, round.node, alpha.node),
      el(
        "div",
        { class: "pair" },
        el("div", { class: "card" }, el("h3", null, "The gradients"), plane, el("p", { class: "readout" }, "Filled: kept. Hollow: left out. Cross: the mean. Line: the running sum of the kept ones, each less the mean. Herding keeps that sum short in all dimensions together; of these the plane shows two."), plain),
        el("div", { class: "card" }, el("div", { class: "card-head" }, el("h3", null, "How close the kept mean comes"), el("span", { class: "ramp" }, el("span", null, swatch(0), "herding"), el("span", null, swatch(RANDOM), "as many at random"))), curve, words, list),
      ),
    );
    update();
    keepDrawn(plane, update);
  }
  return draw;
}

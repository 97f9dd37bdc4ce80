// Who holds what.

function holdingsTable(federation) {
  const { labels, sizes } = federation;
  const most = Math.max(...labels.flat(), 1);
  const largest = Math.max(...sizes, 1);
  const classes = labels.length ? labels[0].length : 0;
  const rows = labels.map((counts, client) => {
    const cells = counts.map((count, label) => {
      const node = el("td", { class: "cell", title: `client ${client}, label ${label}: ${plural(count, "sample")}` }, el("span", null, count && classes <= 20 ? count : ""));
      const share = count / most;
      node.style.background = `color-mix(in srgb, var(--s0) ${Math.round(6 * (count > 0) + 39 * share)}%, var(--cell-out))`;
      return node;
    });
    const bar = el("i");
    bar.style.width = `${Math.max(2, (100 * sizes[client]) / largest)}%`;
    return el("tr", null, el("th", { scope: "row" }, client), cells, el("td", { class: "size" }, sizes[client], bar));
  });
  const head = el("tr", null, el("th", { scope: "col" }, el("span", { class: "visually-hidden" }, "Client"), "№"), labels.length ? labels[0].map((_, label) => el("th", { scope: "col" }, label)) : null, el("th", { scope: "col" }, "Samples"));
  return el("table", { class: "holdings" }, el("caption", { class: "visually-hidden" }, "Samples of each label by client"), el("thead", null, head), el("tbody", null, rows));
}

function sizesTable(federation) {
  return el("table", null, el("thead", null, el("tr", null, el("th", { scope: "col" }, "Client"), el("th", { scope: "col" }, "Samples"))), el("tbody", null, federation.sizes.map((size, client) => el("tr", null, el("th", { scope: "row" }, client), el("td", null, size)))));
}

function buildFederation() {
  const body = el("div", { class: "stack" });
  const local = { seed: 0 };
  byId("federation").append(body);

  function draw() {
    const bySeed = new Map();
    for (const option of runOptions(() => true)) {
      const known = bySeed.get(option.run.seed);
      if (!known || known.federation.all_clients < option.run.federation.all_clients) bySeed.set(option.run.seed, option.run);
    }
    const runs = [...bySeed.values()].sort((a, b) => a.seed - b.seed);
    local.seed = Math.min(local.seed, runs.length - 1);
    const { federation } = runs[local.seed];
    const pick = choice("Seed", runs.map((run) => run.seed), local.seed, (i) => { local.seed = i; draw(); byId("federation-seed").focus(); }, "federation-seed");
    const total = federation.sizes.reduce((a, b) => a + b, 0);
    const shown = federation.all_clients > federation.sizes.length ? `the first ${federation.sizes.length} of ${federation.all_clients} clients` : plural(federation.all_clients, "client");
    const [low, high] = federation.sizes.length ? extent(federation.sizes) : [0, 0];
    body.replaceChildren(
      el("p", { class: "hint" }, `${shown}, ${plural(total, "sample")}; a client holds ${low === high ? low : `${low} to ${high}`}. Rows are clients, columns are labels; the darker, the more samples.`),
      runs.length > 1 ? el("div", { class: "controls" }, pick) : "",
      federation.labels === null && federation.why_not ? el("p", { class: "note" }, `Labels are not shown: ${federation.why_not}`) : "",
      el("div", { class: "card" }, el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Holdings of the clients" }, federation.labels === null ? sizesTable(federation) : holdingsTable(federation))),
    );
  }
  return draw;
}

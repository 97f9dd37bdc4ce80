// Where every number comes from: configuration, versions, seeds, and the command to make it again.

function copyButton(text) {
  const button = el("button", { type: "button", onclick: () => {
    navigator.clipboard.writeText(text).then(
      () => { button.textContent = "Copied"; },
      () => { button.textContent = "Select the text to copy it"; },
    );
  } }, "Copy");
  return button;
}

function runDetails(series, run) {
  const inner = el("div", { class: "inner" });
  const node = el(
    "details",
    null,
    el("summary", null, el("strong", null, series.label), ` · seed ${run.seed} `, el("span", { class: "status" }, `${run.status}, ${plural(run.rounds_done, "round")}, ${seconds(run.seconds || 0)} · ${run.name}`)),
    inner,
  );
  node.addEventListener("toggle", () => {
    if (!node.open || inner.childElementCount) return;
    const versions = Object.entries(run.environment).flatMap(([name, value]) => [el("dt", null, name), el("dd", null, value)]);
    inner.append(
      el("h3", null, "Make it again"),
      run.command === null
        ? el("p", null, "This run is on a task of its own, made in Python. No command makes it again; the program that made it does.")
        : el("div", null, el("pre", null, run.command), el("div", { class: "controls" }, copyButton(run.command))),
      el("h3", null, "Versions"), el("dl", { class: "versions" }, versions),
      el("h3", null, "Configuration"), el("pre", null, run.config),
    );
  });
  return node;
}

function buildProvenance() {
  const list = el("div", { class: "card" });
  byId("provenance").append(el("p", { class: "hint" }, "Every run with its full configuration, its versions and how to make it again."), list);
  return () => {
    const entries = task().series.flatMap((series) => runsOf(series).map((run) => runDetails(series, run)));
    list.replaceChildren(...entries);
    if (entries.length === 1) entries[0].open = true;
  };
}

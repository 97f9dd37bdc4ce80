// Puts the page together.

function theme() {
  const root = document.documentElement;
  const button = byId("theme");
  const wanted = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : wanted.matches);
  const label = () => {
    button.textContent = isDark() ? "☀ Light" : "☾ Dark";
    button.setAttribute("aria-label", isDark() ? "Switch to light colours" : "Switch to dark colours");
  };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    label();
    redrawAll();
  });
  wanted.addEventListener("change", () => {
    label();
    redrawAll();
  });
  let before;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    redrawAll();
  });
  addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before;
    else delete root.dataset.theme;
    redrawAll();
  });
  label();
}

function spreadLine() {
  const seeds = task().series.map((series) => ({ seeds: series.runs.length }));
  const words = spreadWords(seeds, false);
  if (words === null) return "One seed per method: no band and no ±, since one run tells nothing of how others would fare.";
  const alone = seeds.some((one) => one.seeds < 2) ? " A method with one seed has neither." : "";
  return `Lines and bands below, and every ± there: ${words[0].toLowerCase()}${words.slice(1)}.${alone}`;
}

function start() {
  byId("title").textContent = report.title;
  byId("made").textContent = `Made by bherd ${report.version}, ${report.made}. This file is complete: it loads nothing from anywhere.`;
  if (report.notes.length) byId("notes").append(el("div", { class: "note", role: "note" }, report.notes.map((note) => el("p", null, note))));
  theme();
  const drawCurves = buildCurves(() => herd.drawDistance());
  const showTable = buildTable(drawCurves);
  const herd = buildHerd();
  const inside = buildInside();
  const federation = buildFederation();
  const provenance = buildProvenance();

  function showTask(index) {
    state.task = index;
    state.target = task().target;
    state.hidden.clear();
    const [what, who, ...findings] = task().headline;
    byId("what").textContent = what;
    byId("who").textContent = who;
    byId("findings").replaceChildren(...findings.map((sentence) => el("li", null, sentence)));
    byId("findings").hidden = !findings.length;
    byId("spread").textContent = spreadLine();
    drawMethods(() => {
      drawCurves();
      drawTable();
      herd.drawDistance();
    });
    showTable();
    for (const draw of [drawCurves, herd.draw, inside, federation, provenance]) draw();
  }

  if (report.tasks.length > 1) {
    byId("task-choice").append(el("div", { class: "controls" }, choice("Task", report.tasks.map((one) => one.label), 0, showTask, "task")));
  }
  showTask(0);
  document.documentElement.dataset.ready = "yes";
}

start();

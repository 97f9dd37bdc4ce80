// Charts as files: SVG and PNG with their legend, in light colours whatever the page wears; CSV with every value.

const CARRIED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-family"];

function download(name, blob) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function inLight(make) {
  const { dataset } = document.documentElement;
  const before = dataset.theme;
  dataset.theme = "light";
  try {
    return make();
  } finally {
    if (before) dataset.theme = before;
    else delete dataset.theme;
  }
}

// A copy of a drawing that looks the same outside the page, with the legend below it.
function standalone(drawing, { series, log }) {
  const copy = drawing.cloneNode(true);
  const originals = drawing.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((node, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of CARRIED) node.setAttribute(name, style.getPropertyValue(name));
    node.removeAttribute("class");
  });
  const box = drawing.viewBox.baseVal;
  const page = getComputedStyle(document.documentElement);
  const words = spreadWords(series, log);
  const height = box.height + 10 + 18 * (series.length + (words === null ? 0 : 1));
  const ink = { fill: page.getPropertyValue("--ink").trim(), "font-size": 12, "font-family": "sans-serif" };
  series.forEach((one, i) => {
    const at = box.height + 12 + 18 * i;
    const colour = page.getPropertyValue(`--s${one.index % COLOURS}`).trim();
    copy.append(
      svg("line", { x1: 14, x2: 44, y1: at, y2: at, stroke: colour, "stroke-width": 2.4, "stroke-dasharray": dash(one.index) || "none" }),
      svg("text", { x: 52, y: at + 4, ...ink }, one.label),
    );
  });
  if (words !== null) copy.append(svg("text", { x: 14, y: box.height + 16 + 18 * series.length, ...ink }, words));
  copy.setAttribute("xmlns", SVG_NAMESPACE);
  copy.setAttribute("width", box.width);
  copy.setAttribute("height", height);
  copy.setAttribute("viewBox", `0 0 ${box.width} ${height}`);
  copy.prepend(svg("rect", { width: "100%", height: "100%", fill: page.getPropertyValue("--card").trim() }));
  return { text: new XMLSerializer().serializeToString(copy), width: box.width, height };
}

function saveSvg(name, drawing, chart) {
  const { text } = inLight(() => standalone(drawing, chart));
  download(`${name}.svg`, new Blob([text], { type: "image/svg+xml" }));
}

function savePng(name, drawing, chart) {
  const { text, width, height } = inLight(() => standalone(drawing, chart));
  const image = new Image();
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  image.onload = () => {
    const canvas = el("canvas");
    canvas.width = 2 * width;
    canvas.height = 2 * height;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(address);
    canvas.toBlob((blob) => download(`${name}.png`, blob), "image/png");
  };
  image.src = address;
}

function csvField(value) {
  if (value === null || value === undefined) return "";
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function saveCsv(name, header, rows) {
  const lines = [header, ...rows].map((row) => row.map(csvField).join(","));
  download(`${name}.csv`, new Blob([`${lines.join("\r\n")}\r\n`], { type: "text/csv" }));
}

// The three buttons of a chart; `rows` gives what the CSV holds.
function exportButtons(name, chart, header, rows) {
  const button = (kind, save) => el("button", { type: "button", class: "quiet", "data-save": kind, "aria-label": `Save ${name} as ${kind}`, onclick: save }, kind);
  return el(
    "div",
    { class: "actions" },
    button("SVG", () => saveSvg(name, chart.svg(), chart.chart())),
    button("PNG", () => savePng(name, chart.svg(), chart.chart())),
    button("CSV", () => saveCsv(name, header, rows())),
  );
}

function chartCard(title, name, chart, header, rows) {
  return el(
    "div",
    { class: "card" },
    el("div", { class: "card-head" }, el("h3", null, title), exportButtons(name, chart, header, rows)),
    chart.node,
  );
}

// Elements, made without markup: every string that comes from a user becomes a text node.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

function byId(id) {
  return document.getElementById(id);
}

let nextId = 0;
function uniqueId(prefix) {
  nextId += 1;
  return `${prefix}-${nextId}`;
}

function choice(label, options, chosen, onChange, id) {
  const select = el(
    "select",
    { id: id || uniqueId("choice"), onchange: () => onChange(Number(select.value)) },
    options.map((option, i) => el("option", { value: i }, option)),
  );
  select.value = String(chosen);
  return el("label", { for: select.id }, label, select);
}

function checkbox(label, checked, onChange, id) {
  const box = el("input", { type: "checkbox", id: id || uniqueId("box"), onchange: () => onChange(box.checked) });
  box.checked = checked;
  return el("label", { for: box.id }, box, label);
}

function segments(legend, name, options, chosen, onChange) {
  const row = options.map((option, i) => {
    const radio = el("input", { type: "radio", name, value: i, onchange: () => onChange(i) });
    radio.checked = i === chosen;
    return el("label", null, radio, option);
  });
  return el("fieldset", { class: "segments" }, el("legend", null, legend), el("div", { class: "segment-row" }, row));
}

// Calls `draw` when the width of a node changes, and whenever the theme does, while it is on the page.
const redraws = new Map();
function keepDrawn(node, draw) {
  let width = 0;
  const observer = new ResizeObserver(() => {
    if (!node.isConnected) {
      observer.disconnect();
      redraws.delete(node);
      return;
    }
    const now = Math.round(node.clientWidth);
    if (now > 0 && now !== width) {
      width = now;
      draw();
    }
  });
  observer.observe(node);
  redraws.set(node, draw);
}

function redrawAll() {
  for (const redraw of redraws.values()) redraw();
}

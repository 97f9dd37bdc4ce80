// The legend, which is also the switchboard: every chart shows the methods that are on.

function drawMethods(onToggle) {
  const items = task().series.map((series) => {
    const button = el(
      "button",
      {
        type: "button",
        "aria-pressed": String(!state.hidden.has(series.label)),
        onclick: () => {
          const off = !state.hidden.has(series.label);
          if (off) state.hidden.add(series.label);
          else state.hidden.delete(series.label);
          button.setAttribute("aria-pressed", String(!off));
          onToggle();
        },
      },
      swatch(methodIndex(series.label)),
      series.label,
    );
    return el("li", null, button);
  });
  byId("methods").replaceChildren(el("ul", { class: "legend", "aria-label": "Show or hide methods" }, items));
}

// The box with the values beside what is pointed at, tapped or reached by keys. It stays inside its host.

const TIP_GAP = 12;

// `rows` are [picture, label, value]; those that the host has no room for are counted instead.
function makeTip(host, above = false) {
  const node = el("div", { class: above ? "tip above" : "tip", hidden: true });
  host.append(node);

  function show(title, rows, at) {
    const lines = rows.map(([picture, label, value]) => [el("span", { class: "picture-key" }, picture), el("span", { class: "label" }, label), el("span", { class: "v" }, value)]);
    node.replaceChildren(el("b", null, title), ...lines.flat());
    node.hidden = false;
    let left = lines.length;
    const covers = getComputedStyle(node).position === "absolute";
    while (covers && left > 1 && node.offsetTop + node.offsetHeight > host.clientHeight) {
      left -= 1;
      node.replaceChildren(el("b", null, title), ...lines.slice(0, left).flat(), el("span", { class: "rest" }, `and ${lines.length - left} more`));
    }
    const room = host.clientWidth - node.offsetWidth;
    const right = at + TIP_GAP;
    node.style.left = `${Math.max(0, Math.min(room, right <= room ? right : at - TIP_GAP - node.offsetWidth))}px`;
  }

  return { show, hide: () => { node.hidden = true; } };
}

// Pointing shows, a press or a tap pins, and a tap elsewhere, a scroll that begins here or Escape hides.
function reactTo(node, show, hide) {
  let pinned = false;
  const release = () => {
    pinned = false;
    hide();
  };
  node.addEventListener("pointermove", show);
  node.addEventListener("pointerdown", (event) => {
    pinned = true;
    show(event);
  });
  node.addEventListener("pointerleave", () => {
    if (!pinned) hide();
  });
  node.addEventListener("pointercancel", release);
  node.addEventListener("blur", release);
  node.addEventListener("keydown", (event) => {
    if (event.key === "Escape") release();
  });
  const outside = (event) => {
    if (!node.isConnected) document.removeEventListener("pointerdown", outside);
    else if (pinned && !node.contains(event.target)) release();
  };
  document.addEventListener("pointerdown", outside);
}

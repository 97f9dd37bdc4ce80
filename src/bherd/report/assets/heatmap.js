// One client's selection: rounds from left to right, local steps from top to bottom.

function colourOf(name) {
  const canvas = colourOf.canvas || (colourOf.canvas = el("canvas").getContext("2d", { willReadFrequently: true }));
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  canvas.fillRect(0, 0, 1, 1);
  return canvas.getImageData(0, 0, 1, 1).data;
}

// A client that sat out has the largest number that fits into a cell.
function absentMark(herd) {
  return 256 ** herd.width - 1;
}

function sitsOut(herd, client) {
  return decode(client.cells, `u${herd.width}`).includes(absentMark(herd));
}

function heatMap(herd, client, say) {
  const cells = decode(client.cells, `u${herd.width}`);
  const absent = absentMark(herd);
  const { steps } = client;
  const rounds = herd.rounds.length;
  let most = 1;
  let kept = 0;
  let present = 0;
  for (const value of cells) {
    if (value === absent) continue;
    present += 1;
    if (value > 0) kept += 1;
    if (value > most) most = value;
  }
  const canvas = el("canvas", {
    tabindex: 0,
    role: "img",
    "aria-label": `Client ${client.client}: ${plural(steps, "step")} in ${plural(rounds, "shown round")}, ${percent(kept / (present || 1), 0)} kept. Arrow keys read single steps.`,
  });
  const map = el("div", { class: "map" }, canvas);
  const tip = makeTip(map, true);
  let at = null;

  function draw() {
    const [first, last, out, away] = ["--rank-first", "--rank-last", "--cell-out", "--cell-absent"].map(colourOf);
    const pixels = new ImageData(rounds, steps);
    for (let round = 0; round < rounds; round += 1) {
      for (let step = 0; step < steps; step += 1) {
        const value = cells[round * steps + step];
        const share = most > 1 ? (value - 1) / (most - 1) : 0;
        for (let c = 0; c < 3; c += 1) {
          const kind = value === absent ? away[c] : value === 0 ? out[c] : first[c] + share * (last[c] - first[c]);
          pixels.data[4 * (step * rounds + round) + c] = kind;
        }
        pixels.data[4 * (step * rounds + round) + 3] = 255;
      }
    }
    const small = el("canvas");
    small.width = rounds;
    small.height = steps;
    small.getContext("2d").putImageData(pixels, 0, 0);
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    canvas.width = Math.max(rounds, Math.round((canvas.clientWidth || 280) * ratio));
    canvas.height = Math.round(Math.min(260, Math.max(90, steps * 9)) * ratio);
    canvas.style.height = `${canvas.height / ratio}px`;
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, 0, canvas.width, canvas.height);
    if (at) {
      const [width, height] = [canvas.width / rounds, canvas.height / steps];
      context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--s1");
      context.lineWidth = 2 * ratio;
      context.strokeRect(at[0] * width, at[1] * height, Math.max(3, width), height);
    }
  }

  function point(round, step) {
    at = [Math.max(0, Math.min(rounds - 1, round)), Math.max(0, Math.min(steps - 1, step))];
    const value = cells[at[0] * steps + at[1]];
    const fate = value === absent ? "the client sat out" : value === 0 ? "left out" : `kept as the ${ordinal(value)}`;
    draw();
    const words = `Client ${client.client}, round ${herd.rounds[at[0]]}, step ${at[1]}: ${fate}.`;
    tip.show(words, [], ((at[0] + 0.5) / rounds) * canvas.clientWidth);
    say(words);
  }

  const pointed = (event) => {
    const box = canvas.getBoundingClientRect();
    point(Math.floor(((event.clientX - box.left) / box.width) * rounds), Math.floor(((event.clientY - box.top) / box.height) * steps));
  };
  reactTo(canvas, pointed, () => {
    at = null;
    tip.hide();
    draw();
  });
  canvas.addEventListener("keydown", (event) => {
    const [round, step] = at || [-1, 0];
    const moves = { ArrowRight: [round + 1, step], ArrowLeft: [round - 1, step], ArrowDown: [Math.max(0, round), step + (at ? 1 : 0)], ArrowUp: [Math.max(0, round), step - 1] };
    if (event.key in moves) {
      event.preventDefault();
      point(...moves[event.key]);
    }
  });
  keepDrawn(canvas, draw);
  const share = `${percent(kept / (present || 1), 0)} of ${plural(steps, "step")}`;
  return el("figure", null, el("figcaption", null, el("span", null, `Client ${client.client}`), el("span", null, share)), map);
}

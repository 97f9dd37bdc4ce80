// Scales and their ticks.

function linearTicks(low, high, count) {
  const span = high - low || Math.abs(high) || 1;
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * (rough / power < 1.4 ? 1 : rough / power < 3.2 ? 2 : rough / power < 7.5 ? 5 : 10);
  const ticks = [];
  for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + step * 1e-9; tick += step) {
    ticks.push(Math.abs(tick) < step * 1e-9 ? 0 : Number(tick.toPrecision(12)));
  }
  return ticks;
}

function logTicks(low, high) {
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const factors = last - first > 3 ? [1] : last - first > 1 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 7];
  const ticks = [];
  for (let power = first; power <= last; power += 1) {
    for (const factor of factors) {
      const tick = Number((factor * 10 ** power).toPrecision(3));
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks.length > 1 ? ticks : linearTicks(low, high, 5);
}

function makeScale(low, high, from, to, log) {
  const place = log ? Math.log : (value) => value;
  const start = place(low);
  const width = place(high) - start || 1;
  const scale = (value) => from + ((place(value) - start) / width) * (to - from);
  scale.ticks = (count) => (log ? logTicks(low, high) : linearTicks(low, high, count));
  return scale;
}

function extent(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

function padded([low, high], log) {
  if (log) {
    const factor = (high / low) ** 0.04 || 1;
    return low === high ? [low / 2, high * 2] : [low / factor, high * factor];
  }
  const room = (high - low || Math.abs(high) || 1) * 0.05;
  return [low - room, high + room];
}

// Numbers as people read them.

function percent(value, digits = 2) {
  return `${(100 * value).toFixed(digits)}%`;
}

function significant(value, digits = 3) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
    return `${Number(mantissa)}e${Number(exponent)}`;
  }
  return String(Number(value.toPrecision(digits)));
}

function bytes(value) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let size = value;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? size : Number(size.toPrecision(3))} ${units[unit]}`;
}

function seconds(value) {
  if (value >= 7200) return `${Number((value / 3600).toPrecision(3))} h`;
  if (value >= 120) return `${Number((value / 60).toPrecision(3))} min`;
  if (value < 0.001) return value === 0 ? "0 s" : `${Number((1e6 * value).toPrecision(3))} µs`;
  return value < 0.1 ? `${Number((1000 * value).toPrecision(3))} ms` : `${Number(value.toPrecision(3))} s`;
}

function onAxis(value, axis) {
  if (axis === "uplink_bytes") return bytes(value);
  return axis === "seconds" ? seconds(value) : significant(value, 6);
}

function ordinal(number) {
  const tens = number % 100;
  const ending = tens >= 11 && tens <= 13 ? "th" : ["th", "st", "nd", "rd"][number % 10] || "th";
  return `${number}${ending}`;
}

function plural(count, word) {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

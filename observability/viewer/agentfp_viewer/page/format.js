// Numbers, times and sizes as people read them.

export function ms(value) {
  if (value === null || value === undefined) return "";
  if (value < 1) return value > 0 ? "<1 ms" : "0 ms";
  if (value < 1000) return `${Math.round(value)} ms`;
  if (value < 60_000) return `${(value / 1000).toFixed(value < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(value / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

export function count(value) {
  return typeof value === "number" ? value.toLocaleString("en-US") : "–";
}

export function bytes(value) {
  if (value < 1024) return `${value} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let size = value / 1024;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${size.toFixed(size < 10 ? 1 : 0)} ${units[unit]}`;
}

export function usd(text) {
  if (text === null || text === undefined) return "";
  const value = Number(text);
  if (!Number.isFinite(value)) return "";
  if (value === 0) return "$0";
  return value < 0.01 ? `$${value.toPrecision(2)}` : `$${value.toFixed(value < 1 ? 3 : 2)}`;
}

export function moment(ns) {
  if (!ns || ns === "0") return "";
  const at = new Date(Number(BigInt(ns) / 1_000_000n));
  const two = (n) => String(n).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

export function plural(number, word) {
  return `${count(number)} ${word}${number === 1 ? "" : "s"}`;
}

// A text of an event: longer ones come cut, with how long they are.
export function textOf(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (typeof value === "object" && "$cut" in value) return value.text;
  return JSON.stringify(value);
}

export function cutAt(value) {
  return value && typeof value === "object" && "$cut" in value ? value.$cut : null;
}

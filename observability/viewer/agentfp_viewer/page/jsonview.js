// Results and arguments to read: JSON as a tree with a place marked, anything else as text. Long lists show their begin and what is marked.

import { html, nothing } from "./vendor/lit-html.js";
import { charactersOf, cutCharacters, keysOf } from "./values.js";
import { count } from "./format.js";

const MANY = 40;
const SHOWN = 20;
const LONG = 20_000;
const DEEP = 60;
const SHORT = 70;

const opened = new Set();

function parsed(text) {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function opens(id, redraw) {
  return () => {
    opened.add(id);
    redraw();
  };
}

function leaf(value) {
  if (typeof value === "string") return html`<span class="j-s">${JSON.stringify(value)}</span>`;
  return html`<span class="j-n">${String(value)}</span>`;
}

function branch(value, path, marks, id, redraw, depth) {
  const isList = Array.isArray(value);
  const entries = isList ? value.map((item, index) => [index, item]) : Object.entries(value);
  const marked = new Set(marks.filter((m) => m.length > path.length && path.every((k, i) => k === m[i])).map((m) => m[path.length]));
  const place = `${id}:${path.join("/")}`;
  const whole = entries.length <= MANY || opened.has(place);
  const kept = whole ? entries : entries.filter(([key], index) => index < SHOWN || marked.has(key));
  const lines = [];
  let last = -1;
  for (const [key, item] of kept) {
    const at = isList ? key : entries.findIndex(([k]) => k === key);
    if (at > last + 1) lines.push(left(at - last - 1, place, redraw));
    const label = isList ? nothing : html`<span class="j-k">${JSON.stringify(key)}</span>: `;
    lines.push(html`<div class="j-line">${label}${node(item, [...path, key], marks, id, redraw, depth + 1)}${at < entries.length - 1 ? "," : ""}</div>`);
    last = at;
  }
  if (last < entries.length - 1) lines.push(left(entries.length - 1 - last, place, redraw));
  return html`${isList ? "[" : "{"}<div class="j-in">${lines}</div>${isList ? "]" : "}"}`;
}

// Small data without data in it, in one line.
function isFlat(value) {
  return value !== null && typeof value === "object" && !Object.values(value).some((item) => item !== null && typeof item === "object") && JSON.stringify(value).length <= SHORT;
}

function flat(value, path, marks) {
  const isList = Array.isArray(value);
  const parts = Object.entries(value).map(([key, item], index) => {
    const own = [...path, isList ? Number(key) : key];
    const shown = isAt(own, marks) ? html`<mark class="place" tabindex="-1">${leaf(item)}</mark>` : leaf(item);
    return html`${index > 0 ? ", " : ""}${isList ? nothing : html`<span class="j-k">${JSON.stringify(key)}</span>: `}${shown}`;
  });
  return html`${isList ? "[" : "{"}${parts}${isList ? "]" : "}"}`;
}

function isAt(path, marks) {
  return marks.some((m) => m.length === path.length && m.every((key, i) => key === path[i]));
}

function left(number, place, redraw) {
  return html`<div class="j-line"><button class="link" @click=${opens(place, redraw)}>… ${count(number)} more</button></div>`;
}

function node(value, path, marks, id, redraw, depth) {
  const isMarked = isAt(path, marks);
  if (!isMarked && isFlat(value)) return flat(value, path, marks);
  const simple = value === null || typeof value !== "object" || depth > DEEP || Object.keys(value).length === 0;
  const shown = simple ? (value !== null && typeof value === "object" ? JSON.stringify(value) : leaf(value)) : branch(value, path, marks, id, redraw, depth);
  return isMarked ? html`<mark class="place" tabindex="-1">${shown}</mark>` : shown;
}

// Where the numbers stand that a value was worked out of, below the place that is named for it.
function operandPaths(data, path, operands) {
  let value = data;
  for (const key of path) value = value?.[key];
  const found = [];
  const look = (item, at) => {
    if (found.length >= 40 || at.length > DEEP) return;
    if (item !== null && typeof item === "object") for (const [key, inner] of Object.entries(item)) look(inner, [...at, Array.isArray(item) ? Number(key) : key]);
    else if (operands.has(String(item))) found.push(at);
  };
  look(value, path);
  return found;
}

// The numbers on the right of a derivation such as 11088 = 3318 + 7770.
function operandsOf(derivation) {
  const right = derivation.includes("=") ? derivation.slice(derivation.indexOf("=") + 1) : "";
  return new Set(right.replaceAll(",", "").match(/-?\d+(?:\.\d+)?/g) ?? []);
}

// The places that a derivation names with a path of many, such as "sum of $.rows[*].errors where state = down".
function wildcardPaths(data, derivation) {
  const named = /\$[^\s,]*\[\*\][^\s,]*/.exec(derivation);
  if (named === null) return [];
  const where = / where (\S+) = (.+)$/.exec(derivation);
  const [outer, inner] = named[0].split("[*]");
  const above = keysOf(outer);
  const below = keysOf(`$${inner}`);
  if (above === null || below === null) return [];
  let rows = data;
  for (const key of above) rows = rows?.[key];
  if (!Array.isArray(rows)) return [];
  const chosen = rows.map((row, at) => [row, at]).filter(([row]) => where === null || String(row?.[where[1]]) === where[2]);
  return chosen.map(([, at]) => [...above, at, ...below]);
}

// A text of an event. `paths` are places to mark; `id` tells it from others on the page, for what was unfolded in it.
export function contentView(text, { paths = [], derivation = "", id = "", redraw = () => {} } = {}) {
  let keys = paths.map(keysOf).filter((found) => found !== null);
  const data = parsed(text);
  if (data !== undefined) {
    if (derivation && keys.length > 0) {
      const named = wildcardPaths(data, derivation);
      const operands = named.length > 0 ? named : keys.flatMap((path) => operandPaths(data, path, operandsOf(derivation)));
      if (operands.length > 0) keys = operands;
    }
    // A result that holds several documents, or one within a list, is counted from the list that holds them.
    return html`<div class="json">${node(data, [], keys, id, redraw, 0)}</div>`;
  }
  const span = paths.map(charactersOf).find((found) => found !== null);
  if (span !== undefined) {
    const [before, inside, after] = cutCharacters(text, span);
    return html`<pre class="text">${around(before, true)}<mark class="place" tabindex="-1">${inside}</mark>${around(after, false)}</pre>`;
  }
  if (text.length > LONG && !opened.has(id)) {
    const more = html`<button class="link" @click=${opens(id, redraw)}>… ${count(text.length - LONG)} more characters</button>`;
    return html`<pre class="text">${text.slice(0, LONG)}</pre>${more}`;
  }
  return html`<pre class="text">${text}</pre>`;
}

function around(text, isBefore) {
  if (text.length <= LONG) return text;
  return isBefore ? `… ${text.slice(-LONG)}` : `${text.slice(0, LONG)} …`;
}

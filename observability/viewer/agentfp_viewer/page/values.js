// The values of a judged answer: what became of each, in words and marks, and where each comes from.

// Colour is never the only sign: each has a mark of its own and a word.
export const STANDINGS = {
  supported: { mark: "✓", word: "supported", told: "stands in a tool's result" },
  derived: { mark: "ƒ", word: "derived", told: "follows from values in results" },
  given: { mark: "◆", word: "given", told: "the person or the application said it" },
  unverifiable: { mark: "?", word: "cannot be told", told: "nothing speaks for it or against it" },
  weak: { mark: "!", word: "weak", told: "stands nowhere; it may be wording" },
  unsupported: { mark: "✕", word: "unsupported", told: "stands nowhere" },
};

const AS_IT_STANDS = new Set(["exact", "part", "", "given"]);

export function standingOf(value) {
  if (value.verdict === "unsupported") return value.severity === "weak" ? "weak" : "unsupported";
  if (value.verdict === "unverifiable") return "unverifiable";
  if (value.how === "given") return "given";
  return value.derivation || !AS_IT_STANDS.has(value.how ?? "") ? "derived" : "supported";
}

export function sourcesOf(value) {
  if (Array.isArray(value.sources)) return value.sources;
  try {
    return JSON.parse(value.sources ?? "[]").map(([message, path, call]) => ({ message, path, call }));
  } catch {
    return []; // a masked copy
  }
}

// Offsets count characters; JavaScript counts code units, of which some characters have two.
function cutter(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (start, end) => text.slice(start, end);
  const characters = Array.from(text);
  return (start, end) => characters.slice(start, end).join("");
}

// A text in pieces: [text, number of its value or null]. Of values that overlap the first is taken.
export function pieces(text, values) {
  const cut = cutter(text);
  const made = [];
  let at = 0;
  const ordered = values.map((value, number) => ({ value, number })).sort((a, b) => a.value.start - b.value.start || b.value.end - a.value.end);
  for (const { value, number } of ordered) {
    if (value.start < at || value.end <= value.start) continue;
    if (cut(value.start, value.end) !== value.text) continue; // a masked copy, whose places are those of the whole text
    if (value.start > at) made.push([cut(at, value.start), null]);
    made.push([value.text, number]);
    at = value.end;
  }
  const rest = cut(at, undefined);
  if (rest) made.push([rest, null]);
  return made;
}

const STEP = /\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y;

// The keys of a JSON path such as $.rows[2].price; null if it is none.
export function keysOf(path) {
  if (!path.startsWith("$")) return null;
  const keys = [];
  STEP.lastIndex = 1;
  while (STEP.lastIndex < path.length) {
    const found = STEP.exec(path);
    if (found === null) return null;
    const [, name, index, single, double] = found;
    if (index !== undefined) keys.push(Number(index));
    else keys.push(name ?? (single ?? JSON.parse(`"${double}"`)));
  }
  return keys;
}

export function charactersOf(path) {
  const found = /^characters (\d+)-(\d+)$/.exec(path);
  return found === null ? null : [Number(found[1]), Number(found[2])];
}

export function cutCharacters(text, [start, end]) {
  const cut = cutter(text);
  return [cut(0, start), cut(start, end), cut(end, undefined)];
}

// The state of the page and what changes it. Views read it and call these methods; nothing else draws.

import { boot, listRuns, openSource } from "./source.js";
import { Thread } from "./thread.js";

const KINDS = {
  model: ["model", "helper"],
  tools: ["tool"],
  checks: ["check", "event"],
  people: ["person", "pause", "note"],
  problems: null, // by standing, whatever the kind
};

export class App {
  constructor(draw) {
    this.boot = boot;
    this.runs = null;
    this.run = null;
    this.thread = null;
    this.error = null;
    this.selected = null; // the index of a row
    this.detail = { type: "run" };
    this.entry = null; // the answer that is shown: the seq of its row; null for the last
    this.filter = "";
    this.kinds = new Set();
    this.scroll = 0;
    this.height = 400;
    this.zoom = 1;
    this.query = "";
    this.hits = null;
    this.live = null; // null, "on" or "lost"
    this.follows = true;
    this.landing = null;
    this.opened = new Set();
    this.theme = null;
    this.draw = draw;
    this.pending = false;
    this.stop = null;
    this.redraw = this.redraw.bind(this);
  }

  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.draw(this);
    });
  }

  // --- runs ---

  async start() {
    const asked = new URLSearchParams(location.hash.slice(1));
    if (boot.mode === "file") return this.open("file", asked);
    try {
      this.runs = await listRuns();
    } catch (error) {
      this.error = error.message;
      return this.redraw();
    }
    const wanted = asked.get("run") ?? (boot.folder ? null : this.runs[0]?.id);
    if (wanted) return this.open(wanted, asked);
    if (this.runs.length === 0) this.error = "There is no recording here.";
    this.redraw();
  }

  async open(run, asked = new URLSearchParams()) {
    this.stop?.();
    Object.assign(this, { run, error: null, hits: null, query: "", selected: null, entry: null, scroll: 0, live: null });
    this.detail = { type: "run" };
    const thread = new Thread(openSource(run, asked.get("thread")), this.redraw);
    this.thread = thread;
    this.redraw();
    try {
      await thread.refresh();
    } catch (error) {
      if (this.thread === thread) this.error = error.message;
      return this.redraw();
    }
    if (this.thread !== thread) return;
    this.remember();
    if (asked.get("row")) this.select(Number(asked.get("row")), { jump: true });
    else if (asked.get("seq")) this.select(this.rowOf(Number(asked.get("seq"))), { jump: true });
    thread.checkReceipts();
    this.watch(thread);
  }

  openThread(key, seq = null) {
    const asked = new URLSearchParams({ thread: key });
    if (seq !== null) asked.set("seq", seq);
    return this.open(this.run, asked);
  }

  async list() {
    this.stop?.();
    Object.assign(this, { run: null, thread: null, error: null, live: null });
    history.replaceState(null, "", "#");
    this.redraw();
    try {
      this.runs = await listRuns();
    } catch (error) {
      this.error = error.message;
    }
    this.redraw();
  }

  watch(thread) {
    if (thread.source.follow === null) return;
    let busy = false;
    let again = false;
    const refresh = async () => {
      if (busy) {
        again = true;
        return;
      }
      busy = true;
      try {
        do {
          again = false;
          await thread.refresh();
        } while (again);
      } catch {
        this.live = "lost";
      }
      busy = false;
      if (this.follows && this.live === "on" && thread.overview.status === "open") this.toEnd = true;
      this.redraw();
    };
    this.stop = thread.source.follow(refresh, (error) => {
      this.live = error === null ? "on" : "lost";
      if (error === null) refresh();
      this.redraw();
    });
  }

  remember() {
    if (boot.mode === "file" && this.thread.overview.thread === "0" && this.selected === null) return;
    const at = new URLSearchParams();
    if (boot.folder) at.set("run", this.run);
    if (this.thread.overview.thread !== "0") at.set("thread", this.thread.overview.thread);
    if (this.selected !== null) at.set("row", this.selected);
    history.replaceState(null, "", `#${at}`);
  }

  // --- what is looked at ---

  select(index, { jump = false } = {}) {
    const row = this.thread.rows[index];
    if (row === undefined) return;
    this.selected = index;
    this.detail = { type: "row", row: index };
    this.landing = null;
    const own = this.entries().filter((entry) => entry.turn === row.t);
    if (own.length > 0) this.entry = (own.find((entry) => entry.row === index) ?? own.at(-1)).key;
    if (jump) {
      if (!this.visible().includes(row)) Object.assign(this, { filter: "", kinds: new Set() });
      this.jump = index;
    }
    this.remember();
    this.redraw();
  }

  showRun() {
    this.selected = null;
    this.detail = { type: "run" };
    this.remember();
    this.redraw();
  }

  showValue(entry, number, source = 0) {
    this.detail = { type: "value", entry: entry.key, number, source };
    this.landing = { tries: 0 };
    this.redraw();
  }

  // The row that an event belongs to: the smallest that spans it, else the last before it.
  rowOf(seq) {
    let best = null;
    for (const row of this.thread.rows) {
      if (row.seq <= seq && seq <= row.end && (best === null || row.end - row.seq <= best.end - best.seq)) best = row;
    }
    if (best !== null) return best.i;
    for (const row of this.thread.rows) if (row.seq <= seq) best = row;
    return best === null ? null : best.i;
  }

  // The answers of the run, drafts and refused ones included, each with its judgement if there is one.
  entries() {
    const thread = this.thread;
    if (this.found?.thread === thread && this.found.rev === thread.rev) return this.found.entries;
    const judged = new Map(thread.answers.filter((a) => a.text !== undefined).map((a) => [a.text, a]));
    const found = [];
    for (const row of thread.rows) {
      if (row.k === "answer") {
        const judgement = judged.get(row.msg) ?? null;
        judged.delete(row.msg);
        found.push({ key: row.msg, turn: row.t, row: row.i, kind: "answer", text: row.msg, judgement });
      }
    }
    for (const a of judged.values()) {
      const kind = a.home === "said" ? "answer" : a.home;
      found.push({ key: a.text, turn: a.turn, row: a.row, kind, text: a.text, judgement: a });
    }
    found.sort((a, b) => a.key - b.key);
    this.found = { thread, rev: thread.rev, entries: found };
    return found;
  }

  currentEntry() {
    const entries = this.entries();
    return entries.find((entry) => entry.key === this.entry) ?? entries.at(-1) ?? null;
  }

  showEntry(key) {
    this.entry = key;
    this.redraw();
  }

  // --- filters ---

  toggleKind(kind) {
    if (!this.kinds.delete(kind)) this.kinds.add(kind);
    this.scroll = 0;
    this.toTop = true;
    this.redraw();
  }

  setFilter(text) {
    this.filter = text;
    this.toTop = true;
    this.redraw();
  }

  visible() {
    const rows = this.thread.rows;
    const text = this.filter.trim().toLowerCase();
    if (text === "" && this.kinds.size === 0) return rows;
    const kinds = new Set([...this.kinds].flatMap((kind) => KINDS[kind] ?? []));
    const problems = this.kinds.has("problems");
    return rows.filter((row) => {
      const fits = this.kinds.size === 0 || kinds.has(row.k) || (problems && (row.s === "bad" || row.s === "warn"));
      return fits && (text === "" || `${row.label} ${row.sub ?? ""} ${row.by ?? ""}`.toLowerCase().includes(text));
    });
  }

  // --- search ---

  async search(text) {
    this.query = text;
    if (text.trim() === "") {
      this.hits = null;
      if (this.detail.type === "search") this.detail = { type: "run" };
      return this.redraw();
    }
    this.hits = null;
    this.detail = { type: "search" };
    this.redraw();
    const thread = this.thread;
    const hits = await thread.source.search(text.trim()).catch((error) => ({ error: error.message }));
    if (this.query === text && this.thread === thread) {
      this.hits = hits;
      this.redraw();
    }
  }

  setTheme(theme) {
    this.theme = theme;
    document.documentElement.dataset.theme = theme;
    this.redraw();
  }
}

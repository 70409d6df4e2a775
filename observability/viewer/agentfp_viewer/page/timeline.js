// The rows of the run in time. Only those in sight are drawn, so that a run of a thousand steps is as quick as one of ten.

import { html, nothing, svg } from "./vendor/lit-html.js";
import { count, ms, usd } from "./format.js";

export const ROW = 30;
const SPARE = 8;
const ICONS = {
  leg: "▸", person: "☻", model: "◇", tool: "⚙", check: "✓", event: "•", pause: "‖", answer: "❝", end: "■", failure: "✕", helper: "◈", note: "✎",
};
const NAMES = {
  leg: "run", person: "person", model: "model call", tool: "tool call", check: "check", event: "event", pause: "pause", answer: "answer",
  end: "end", failure: "failure", helper: "helper model", note: "note",
};
const KINDS = [
  ["model", "Model"],
  ["tools", "Tools"],
  ["checks", "Checks"],
  ["people", "People"],
  ["problems", "Problems"],
];
const SAID = { ok: "fine", warn: "needs a look", bad: "went wrong", open: "goes on" };

export function kindName(row) {
  return NAMES[row.k] ?? row.k;
}

function total(thread) {
  return Math.max(thread.overview.ms, 1);
}

function windowOf(app, first) {
  const whole = total(app.thread);
  const width = whole / app.zoom;
  const start = app.zoom === 1 ? 0 : Math.min(Math.max((first?.at ?? 0) - width * 0.05, 0), whole - width);
  return { start, width };
}

function lane(row, { start, width }, now) {
  const long = row.d ?? (row.s === "open" ? Math.max(now - row.at, 0) : 0);
  const x = ((row.at - start) / width) * 1000;
  const w = (long / width) * 1000;
  if (x > 1000 || x + w < -4) return nothing;
  const from = Math.max(x, 0);
  return svg`<rect x=${from} y="2" width=${Math.max(Math.min(x + w, 1000) - from, 3)} height="8" rx="2" class=${`bar b-${row.k} s-${row.s ?? "none"}`}></rect>`;
}

function rowView(app, row, place, of, window) {
  const depth = row.p === undefined ? 0 : 1;
  const tokens = row.tok ? `${count(row.tok[0])} → ${count(row.tok[1])}` : "";
  return html`<div
    class="row k-${row.k} s-${row.s ?? "none"} ${app.selected === row.i ? "selected" : ""} depth-${depth}"
    role="option" id="row-${row.i}" aria-selected=${app.selected === row.i} aria-posinset=${place + 1} aria-setsize=${of}
    .style=${`top:${place * ROW}px`}
    @click=${() => app.select(row.i)}>
    <span class="icon" aria-hidden="true">${row.k === "check" && row.s !== "ok" ? (row.s === "bad" ? "✕" : "!") : (ICONS[row.k] ?? "•")}</span>
    <span class="what"><span class="unseen">${kindName(row)}: </span><b>${row.label}</b>${row.sub ? html` <i>${row.sub}</i>` : nothing}${row.v ? html` <i class="tag">${row.v.length === 1 ? row.v[0] : `${row.v.length} verdicts`}</i>` : nothing}<span class="unseen">${SAID[row.s] ?? ""}</span></span>
    <span class="amount">${tokens}${row.usd && Number(row.usd) > 0 ? html` <i>${usd(row.usd)}</i>` : nothing}</span>
    <span class="took">${app.thread.overview.untimed ? nothing : row.s === "open" ? "…" : ms(row.d)}</span>
    ${app.thread.overview.untimed ? nothing : html`<svg class="lane" viewBox="0 0 1000 12" preserveAspectRatio="none" aria-hidden="true">${lane(row, window, app.thread.overview.ms)}</svg>`}
  </div>`;
}

function keys(app, rows) {
  return (event) => {
    const at = rows.findIndex((row) => row.i === app.selected);
    const page = Math.max(Math.floor(app.height / ROW) - 1, 1);
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: rows.length - 1 };
    if (event.key === "ArrowLeft" && at >= 0 && rows[at].p !== undefined) moves.ArrowLeft = rows.findIndex((row) => row.i === rows[at].p);
    if (event.key === "Enter") {
      document.querySelector(".detail h2")?.focus();
      event.preventDefault();
      return;
    }
    const to = moves[event.key];
    if (to === undefined || rows.length === 0 || event.metaKey || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    app.select(rows[Math.min(Math.max(to, 0), rows.length - 1)].i);
    app.jump = app.selected;
  };
}

function ruler(app, { start, width }) {
  const marks = [0, 0.25, 0.5, 0.75].map((part) => html`<span>${ms(start + width * part)}</span>`);
  return html`<div class="ruler" aria-hidden="true"><span class="marks">${marks}</span></div>`;
}

function tools(app, shown, all) {
  const zooms = html`<span class="zoom" role="group" aria-label="Scale of the bars">
    <button class="quiet" title="Wider bars" aria-label="Wider bars" @click=${() => { app.zoom = Math.min(app.zoom * 4, 4096); app.redraw(); }}>+</button>
    <button class="quiet" title="Narrower bars" aria-label="Narrower bars" ?disabled=${app.zoom === 1} @click=${() => { app.zoom = Math.max(app.zoom / 4, 1); app.redraw(); }}>−</button>
  </span>`;
  return html`<div class="tools">
    <h2 id="steps">Timeline <small>${shown === all ? count(all) : `${count(shown)} of ${count(all)}`}</small></h2>
    <div class="chips" role="group" aria-label="Show only">
      ${KINDS.map(([key, name]) => html`<button class="chip" aria-pressed=${app.kinds.has(key)} @click=${() => app.toggleKind(key)}>${name}</button>`)}
    </div>
    <input id="filter" type="search" placeholder="Filter steps" aria-label="Filter steps" .value=${app.filter} @input=${(event) => app.setFilter(event.target.value)} />
    ${app.thread.overview.untimed ? html`<span class="soft">no times recorded: in order</span>` : zooms}
  </div>`;
}

export function timelineView(app) {
  const rows = app.visible();
  const first = Math.max(Math.floor(app.scroll / ROW) - SPARE, 0);
  const last = Math.min(Math.ceil((app.scroll + app.height) / ROW) + SPARE, rows.length);
  const window = windowOf(app, rows[Math.floor(app.scroll / ROW)]);
  const drawn = [];
  for (let place = first; place < last; place += 1) drawn.push(rowView(app, rows[place], place, rows.length, window));
  return html`<section class="timeline ${app.thread.overview.untimed ? "untimed" : ""}" aria-labelledby="steps">
    ${tools(app, rows.length, app.thread.rows.length)}
    ${app.thread.overview.untimed ? nothing : ruler(app, window)}
    <div class="rows" id="rows" role="listbox" tabindex="0" aria-label="Steps of the run"
      aria-activedescendant=${app.selected === null ? nothing : `row-${app.selected}`}
      @keydown=${keys(app, rows)} @scroll=${(event) => scrolled(app, event.currentTarget)}>
      <div class="all" .style=${`height:${rows.length * ROW}px`}>${drawn}</div>
      ${rows.length === 0 ? html`<p class="soft pad">No step fits.</p>` : nothing}
    </div>
  </section>`;
}

function scrolled(app, list) {
  app.scroll = list.scrollTop;
  app.follows = list.scrollTop + list.clientHeight > list.scrollHeight - ROW * 2;
  app.redraw();
}

// After drawing: bring what was asked for into sight.
export function settle(app) {
  const list = document.getElementById("rows");
  if (list === null) return;
  if (app.height !== list.clientHeight) {
    app.height = list.clientHeight;
    app.redraw();
  }
  if (app.jump !== undefined) {
    const place = app.visible().findIndex((row) => row.i === app.jump);
    const top = place * ROW;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
    delete app.jump;
  } else if (app.toEnd) {
    list.scrollTop = list.scrollHeight;
  } else if (app.toTop) {
    list.scrollTop = 0;
  }
  app.toEnd = app.toTop = false;
}

// Draws the page, and listens to the keyboard.

import { html, nothing, render } from "./vendor/lit-html.js";
import { App } from "./app.js";
import { answerView, valuesOf } from "./answer.js";
import { detailView } from "./detail.js";
import { runsView } from "./runs.js";
import { settle, timelineView } from "./timeline.js";
import { count, ms, usd } from "./format.js";

const STATUS = {
  answered: ["s-ok", "✓ answered"],
  paused: ["s-warn", "‖ waits for a person"],
  stopped_early: ["s-warn", "! stopped early"],
  refused: ["s-bad", "✕ refused"],
  failed: ["s-bad", "✕ failed"],
  cancelled: ["s-bad", "✕ cancelled"],
};

function statusBadge(app, overview) {
  if (overview.status !== "open") {
    const [css, words] = STATUS[overview.status] ?? ["", overview.status];
    return html`<span class="badge ${css}">${words}</span>`;
  }
  if (overview.origin) return nothing;
  if (app.live === "lost") return html`<span class="badge s-open">no connection</span>`;
  const { idle_s: idle } = overview;
  if (app.live === "on" && idle !== null && idle < 60) return html`<span class="badge s-open live">● live</span>`;
  return html`<span class="badge s-open">${idle === null ? "not ended" : `not ended, last written ${ms(idle * 1000)} ago`}</span>`;
}

function searched(app) {
  let timer = null;
  return (event) => {
    clearTimeout(timer);
    const text = event.target.value;
    timer = setTimeout(() => app.search(text), 200);
  };
}

function dark() {
  return document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

let onSearch = null;

function header(app) {
  const overview = app.thread?.overview;
  onSearch ??= searched(app);
  return html`<header class="top">
    ${app.boot.folder && app.run !== null ? html`<button class="quiet" @click=${() => app.list()}>‹ Runs</button>` : html`<span class="brand" aria-hidden="true">agent<b>fp</b></span>`}
    ${overview ? html`<h1 class="title"><button title="About the run" @click=${() => app.showRun()}>${overview.question || overview.agent || overview.file}</button></h1>
      <span role="status">${statusBadge(app, overview)}</span>
      <span class="sum">${overview.untimed ? nothing : html`<span>${ms(overview.ms)}</span>`}
        ${overview.tokens[0] !== null ? html`<span>${count(overview.tokens[0])} → ${count(overview.tokens[1])} tokens</span>` : nothing}
        ${overview.usd !== null && Number(overview.usd) > 0 ? html`<span>${usd(overview.usd)}</span>` : nothing}</span>
      <input id="search" type="search" placeholder="Search  /" aria-label="Search in everything that was recorded" @input=${onSearch} />` : html`<span class="grow"></span>`}
    <button class="quiet" aria-label=${dark() ? "Light" : "Dark"} title=${dark() ? "Light" : "Dark"} @click=${() => app.setTheme(dark() ? "light" : "dark")}>◐</button>
  </header>`;
}

// Which of the conversations in the file is shown.
function picker(app) {
  const { thread, threads } = app.thread.overview;
  const roots = threads.filter((one) => one.path.length === 0);
  if (roots.length < 2) return nothing;
  const shown = thread.split("/")[0];
  return html`<nav class="crumbs"><label>Conversation <select @change=${(event) => app.openThread(event.target.value)}>
    ${roots.map((one, at) => html`<option value=${one.key} ?selected=${one.key === shown}>${at + 1} of ${roots.length}: ${one.agent ? `${one.agent}: ` : ""}${one.question || one.key}</option>`)}</select></label></nav>`;
}

function crumbs(app) {
  const { thread, threads } = app.thread.overview;
  const path = thread.split("/");
  if (path.length < 2) return nothing;
  const links = path.map((_, index) => path.slice(0, index + 1).join("/"));
  return html`<nav class="crumbs" aria-label="Nested runs">${links.map((key, index) => {
    const found = threads.find((one) => one.key === key);
    const name = index === 0 ? "The run" : found?.agent || found?.question || "nested run";
    return html`${index > 0 ? " › " : nothing}${key === thread ? html`<b aria-current="page">${name}</b>` : html`<button class="link" @click=${() => app.openThread(key)}>${name}</button>`}`;
  })}</nav>`;
}

function banner(app) {
  const { problems, redacted } = app.thread.overview;
  const told = [...problems];
  if (redacted.length > 0) told.unshift(`This copy is masked by ${redacted.join(", ")}.`);
  if (app.thread.receipts?.bad?.length > 0) told.unshift(`The record was changed: model call ${app.thread.receipts.bad.join(", ")} does not hash to its receipt.`);
  return told.length === 0 ? nothing : html`<details class="banner" open><summary>${told.length === 1 ? told[0] : `${told.length} things to know about this file`}</summary>${told.length === 1 ? nothing : html`<ul>${told.map((text) => html`<li>${text}</li>`)}</ul>`}</details>`;
}

function page(app) {
  if (app.error !== null) return html`${header(app)}<main class="wrong" id="main" role="alert"><h2>This could not be opened</h2><p>${app.error}</p></main>`;
  if (app.run === null) return app.runs === null ? html`${header(app)}<main class="pad" id="main"><p class="soft">…</p></main>` : html`${header(app)}${runsView(app)}`;
  if (app.thread === null || app.thread.overview === null) return html`${header(app)}<main class="pad" id="main"><p class="soft" role="status">Opening …</p></main>`;
  return html`${header(app)}${banner(app)}${picker(app)}${crumbs(app)}
    <main class="panes" id="main"><div class="left">${answerView(app)}${timelineView(app)}</div>${detailView(app)}</main>`;
}

// A value that was chosen is brought into sight where it stands, as soon as that is there.
function land(app) {
  if (app.landing === null) return;
  const place = document.querySelector(".detail mark.place");
  if (place !== null) {
    place.scrollIntoView({ block: "center" });
    place.focus({ preventScroll: true });
    app.landing = null;
  } else {
    document.querySelector(".detail")?.scrollTo(0, 0);
    app.landing.tries += 1;
    if (app.landing.tries > 100) app.landing = null;
  }
}

const root = document.getElementById("app");
let shown = "";

function draw(app) {
  render(page(app), root);
  settle(app);
  const now = JSON.stringify(app.detail);
  if (now !== shown && app.landing === null) document.querySelector(".detail")?.scrollTo(0, 0);
  shown = now;
  land(app);
}

function step(app, by) {
  const entry = app.currentEntry();
  const values = valuesOf(app, entry);
  if (values.length === 0) return;
  const at = app.detail.type === "value" && app.detail.entry === entry.key ? app.detail.number : by > 0 ? -1 : values.length;
  app.showValue(entry, (at + by + values.length) % values.length);
}

root.replaceChildren();
const app = new App(draw);
const KEYS = {
  "/": () => document.getElementById("search")?.focus(),
  f: () => document.getElementById("filter")?.focus(),
  t: () => document.getElementById("rows")?.focus(),
  a: () => document.querySelector("#said a")?.focus(),
  r: () => app.thread?.overview && app.showRun(),
  n: () => app.thread?.overview && step(app, 1),
  p: () => app.thread?.overview && step(app, -1),
};
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea");
  if (event.key === "Escape" && typing) event.target.blur();
  if (typing || event.metaKey || event.ctrlKey || event.altKey || KEYS[event.key] === undefined) return;
  event.preventDefault();
  KEYS[event.key]();
});
window.addEventListener("resize", app.redraw);
app.start();

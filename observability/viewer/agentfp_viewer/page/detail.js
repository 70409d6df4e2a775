// What is told of the thing that was chosen: the run, a row, a value, what a search found.

import { html, nothing } from "./vendor/lit-html.js";
import { stepView } from "./step.js";
import { callView } from "./call.js";
import { valueView, valuesTable } from "./valuedetail.js";
import { bytes, count, moment, ms, plural, textOf, usd } from "./format.js";
import { contentView } from "./jsonview.js";
import { eventCards, fact, rawEvents, section } from "./parts.js";
import { kindName } from "./timeline.js";

const TOKENS = ["input", "output", "from cache", "into cache", "thinking"];

function runView(app) {
  const o = app.thread.overview;
  const receipts = app.thread.receipts;
  const verified = receipts === null ? "…" : receipts.why ? html`<span class="soft">not checked: ${receipts.why}</span>` : receipts.bad.length === 0 ? html`<span class="good">✓ ${receipts.upto < o.model_calls ? `the first ${receipts.upto} hash to their receipts` : "every request hashes to its receipt"}</span>` : html`<span class="bad">✕ model call ${receipts.bad.join(", ")}: the record was changed, or lacks a part</span>`;
  return html`<h2 tabindex="-1">The run</h2>
    <dl class="facts">
      ${fact("started", moment(o.started_ns))}
      ${fact("agent", o.agent)}
      ${fact("model", o.models.join(", "))}
      ${fact("plugins", Object.entries(o.plugins).map(([name, version]) => `${name} ${version}`).join(", "))}
      ${fact("took", o.untimed ? "" : ms(o.ms))}
      ${fact("steps", `${plural(o.model_calls, "model call")}, ${plural(o.tool_calls, "tool call")}${o.turns > 1 ? `, ${o.turns} turns` : ""}${o.legs > 1 ? `, ${o.legs} legs` : ""}`)}
      ${fact("tokens", o.tokens.map((n, i) => (n === null ? "" : `${count(n)} ${TOKENS[i]}`)).filter(Boolean).join(", "))}
      ${fact("cost", o.usd === null ? (o.model_calls ? "not recorded" : "") : `${usd(o.usd)}${o.unpriced ? `, ${o.unpriced} replies without a price` : ""}`)}
      ${fact("session", o.session)}
      ${fact("for", o.identity ? Object.values(o.identity).join(", ") : "")}
      ${fact("masked", o.redacted.length > 0 ? `by ${o.redacted.join(", ")}` : "")}
      ${o.model_calls > 0 ? fact("requests", verified) : nothing}
      ${fact("file", `${o.file}, ${bytes(o.size)}, ${plural(o.events, "event")}`)}
      ${fact("recorded", o.notes.format ? `${o.notes.format}, ${o.notes.detail ?? "full"}${o.notes.sealed === o.run_id ? ", sealed" : ""}` : "")}
      ${fact("read as", o.origin)}
      ${fact("conversation", html`<code>${o.root_id}</code>`)}
      ${fact("run", html`<code>${o.run_id}</code>`)}
    </dl>
    ${usageChart(app)}
    ${threadList(app)}
    ${o.others.length > 0 ? section("other", "What else the file holds", contentView(JSON.stringify(o.others), { id: "others", redraw: app.redraw })) : nothing}
    ${keysHelp()}`;
}

function threadList(app) {
  const threads = app.thread.overview.threads;
  if (threads.length < 2) return nothing;
  return section("threads", `Runs in this file (${threads.length})`, html`<ul class="list">${threads.map((one) => html`<li>
    ${one.key === app.thread.overview.thread ? html`<b>${one.question || one.agent || one.key}</b> (shown)` : html`<button class="link" @click=${() => app.openThread(one.key)}>${one.question || one.agent || one.key}</button>`}
    ${one.path.length > 0 ? html`<span class="soft"> nested, below call ${one.path.at(-1)}</span>` : nothing}</li>`)}</ul>`, { open: true });
}

function usageChart(app) {
  const rows = app.thread.rows.filter((row) => row.k === "model" && row.tok && row.tok[0] !== null);
  if (rows.length < 2) return nothing;
  const shown = rows.slice(-400);
  const most = Math.max(...shown.map((row) => (row.tok[0] ?? 0) + (row.tok[1] ?? 0)), 1);
  return section("usage", "Tokens of each model call", html`<div class="chart" role="group" aria-label="Tokens of each model call, at most ${count(most)}">
    ${shown.map((row) => html`<button class="col" title="call ${row.n}: ${count(row.tok[0])} in, ${count(row.tok[1])} out" aria-label="Model call ${row.n}: ${count(row.tok[0])} tokens in, ${count(row.tok[1])} out"
      tabindex=${shown.length > 40 ? -1 : 0} @click=${() => app.select(row.i, { jump: true })}>
      <span class="out" .style=${`height:${((row.tok[1] ?? 0) / most) * 100}%`}></span><span class="in" .style=${`height:${((row.tok[0] ?? 0) / most) * 100}%`}></span></button>`)}
    </div><p class="soft">${rows.length > shown.length ? `the last ${shown.length} of ${count(rows.length)}; ` : ""}at most ${count(most)}; <span class="key in"></span> in <span class="key out"></span> out</p>`, { open: true });
}

function keysHelp() {
  return section("keys", "Keys", html`<dl class="facts">
    ${fact("/", "search")}${fact("f", "filter the steps")}${fact("t", "to the timeline")}${fact("a", "to the answer")}
    ${fact("n, p", "the next value of the answer, the one before")}${fact("↑ ↓ ⏎", "in the timeline: move, go to what is told")}${fact("r", "the run")}
  </dl>`);
}

function otherView(app, row) {
  const event = app.thread.event(row.seq);
  const judged = app.thread.answers.find((a) => a.seq === row.seq);
  return html`<h2 tabindex="-1"><span class="kind">${kindName(row)}</span> ${row.label}</h2>
    <dl class="facts">
      ${fact("by", row.by)}${fact("at", app.thread.overview.untimed ? "" : ms(row.at))}${fact("turn", row.t || "")}${fact("told", row.sub)}
    </dl>
    ${judged ? valuesTable(app, judged) : nothing}
    ${event === null ? html`<p class="soft">…</p>` : judged ? nothing : eventCards(app, [event])}
    ${rawEvents(app, app.thread.range(row.seq, row.end, false))}`;
}

function saidView(app, row) {
  const event = app.thread.event(row.msg ?? row.seq);
  const text = event === null ? null : textOf(event.data.content ?? row.label);
  return html`<h2 tabindex="-1"><span class="kind">${kindName(row)}</span></h2>
    ${text === null ? html`<p class="soft">…</p>` : html`<div class="prose">${text}</div>`}
    ${rawEvents(app, event === null ? null : [event])}`;
}

function searchView(app) {
  const hits = app.hits;
  const here = app.thread.overview.thread;
  const go = (hit) => () => {
    if (hit.thread !== here) return app.openThread(hit.thread, hit.seq);
    const row = app.rowOf(hit.seq);
    if (row !== null) app.select(row, { jump: true });
  };
  const found = (hit) => {
    const length = app.query.trim().length;
    return html`${hit.around.slice(0, hit.at)}<mark>${hit.around.slice(hit.at, hit.at + length)}</mark>${hit.around.slice(hit.at + length)}`;
  };
  if (hits === null) return html`<h2 tabindex="-1">Searching …</h2>`;
  if (hits.error) return html`<h2 tabindex="-1">Search</h2><p class="bad">${hits.error}</p>`;
  return html`<h2 tabindex="-1">${hits.length === 200 ? "The first 200 places" : plural(hits.length, "place")} with “${app.query.trim()}”</h2>
    <ul class="hits">${hits.map((hit) => {
      const row = hit.thread === here ? app.thread.rows[app.rowOf(hit.seq)] : undefined;
      return html`<li><button class="hit" @click=${go(hit)}><b>${row ? `${kindName(row)}: ${row.label}` : `event ${hit.seq}${hit.thread === here ? "" : " of another run in this file"}`}</b><span>${found(hit)}</span></button></li>`;
    })}</ul>`;
}

export function detailView(app) {
  const detail = app.detail;
  let view;
  if (detail.type === "search") view = searchView(app);
  else if (detail.type === "value") view = valueView(app, detail);
  else if (detail.type === "row") {
    const row = app.thread.rows[detail.row];
    if (row.k === "model") view = stepView(app, row);
    else if (row.k === "tool") view = callView(app, row);
    else if (row.k === "answer" || row.k === "note" || (row.k === "person" && row.msg !== undefined)) view = saidView(app, row);
    else view = otherView(app, row);
  } else view = runView(app);
  return html`<section class="detail" aria-label="Details" tabindex="-1">${view}</section>`;
}

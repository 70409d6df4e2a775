// The answer with each value marked; a value leads to the place that it comes from.

import { html, nothing } from "./vendor/lit-html.js";
import { textOf } from "./format.js";
import { STANDINGS, pieces, standingOf } from "./values.js";

const NOTED = {
  draft: "A draft that was sent back",
  refused: "An answer that was refused; nobody got it",
};

export function valuesOf(app, entry) {
  if (entry === null || entry.judgement === null) return [];
  return app.thread.event(entry.judgement.seq)?.data.values ?? [];
}

export function textOfEntry(app, entry) {
  const event = app.thread.event(entry.text);
  if (event === null) return null;
  return textOf(event.name === "agentfp.message.added" ? event.data.content : event.data.text);
}

export function valueLink(app, entry, values, number, text) {
  const value = values[number];
  const standing = standingOf(value);
  const chosen = app.detail.type === "value" && app.detail.entry === entry.key && app.detail.number === number;
  const { word, told } = STANDINGS[standing];
  const go = (event) => {
    event.preventDefault();
    app.showValue(entry, number);
  };
  return html`<a href="#value-${number}" class="v v-${standing} ${chosen ? "chosen" : ""}" aria-current=${chosen ? "true" : nothing}
    title="${word}: ${told}" aria-label="${text}, ${word}" @click=${go}>${text}</a>`;
}

function legend(app, entry, values) {
  const counts = new Map();
  for (const value of values) counts.set(standingOf(value), (counts.get(standingOf(value)) ?? 0) + 1);
  const shown = Object.entries(STANDINGS).filter(([standing]) => counts.has(standing));
  const next = (standing) => {
    const numbers = values.map((value, number) => ({ value, number })).filter(({ value }) => standingOf(value) === standing);
    const at = app.detail.type === "value" && app.detail.entry === entry.key ? numbers.findIndex(({ number }) => number === app.detail.number) : -1;
    app.showValue(entry, numbers[(at + 1) % numbers.length].number);
  };
  return html`<div class="legend" role="group" aria-label="Values by where they come from">
    ${shown.map(([standing, { mark, word, told }]) => html`<button class="count v-${standing}" title="${told}; press to step through them" @click=${() => next(standing)}>
      <span aria-hidden="true">${mark}</span> <b>${counts.get(standing)}</b> ${word}</button>`)}
  </div>`;
}

function questionOf(app, entry) {
  const row = app.thread.rows.findLast((one) => one.k === "person" && one.msg !== undefined && one.t === entry.turn && one.seq < entry.key);
  if (row === undefined) return nothing;
  const event = app.thread.event(row.seq);
  const text = event === null ? row.label : textOf(event.data.content ?? row.label);
  return html`<p class="asked"><span class="who">asked</span> ${text}</p>`;
}

function turns(app, entries, entry) {
  if (entries.length < 2) return nothing;
  const at = entries.findIndex((one) => one.key === entry.key);
  const go = (step) => () => app.showEntry(entries[at + step].key);
  return html`<span class="turns">
    <button class="quiet" aria-label="The answer before" ?disabled=${at === 0} @click=${go(-1)}>‹</button>
    <span>${at + 1} of ${entries.length}</span>
    <button class="quiet" aria-label="The next answer" ?disabled=${at === entries.length - 1} @click=${go(1)}>›</button>
  </span>`;
}

// Why an answer has no verdicts.
function unjudged(app, entry) {
  const failed = app.thread.rows.find((row) => row.failed !== undefined && row.t === entry.turn);
  if (failed) return html`<p class="note bad">${failed.failed} failed, so nothing of this answer was checked. <button class="link" @click=${() => app.select(failed.i, { jump: true })}>Show it</button></p>`;
  if (Object.keys(app.thread.overview.plugins).includes("evidence")) return html`<p class="soft">No judgement of this answer is on the record.</p>`;
  return html`<p class="soft">Nothing was checked: no plugin judged it. <code>pip install "agentfp[check]"</code> brings one.</p>`;
}

function none(app) {
  const { status, pending } = app.thread.overview;
  const words = {
    open: "No answer yet.",
    paused: "The run waits for a person.",
    refused: "The answer was refused.",
    failed: "The run failed before it had an answer.",
    cancelled: "The run was cancelled before it had an answer.",
  };
  return html`<section class="answer" aria-labelledby="answer-head">
    <div class="card-head"><h2 id="answer-head">Answer</h2></div>
    <p class="soft">${words[status] ?? "There is no answer in this recording."}</p>
    ${pending.length > 0 ? html`<ul class="pending">${pending.map((prompt) => html`<li>${prompt}</li>`)}</ul>` : nothing}
  </section>`;
}

export function answerView(app) {
  const entries = app.entries();
  const entry = app.currentEntry();
  if (entry === null) return none(app);
  const text = textOfEntry(app, entry);
  const values = valuesOf(app, entry);
  const event = entry.judgement === null ? null : app.thread.event(entry.judgement.seq);
  const parts = text === null ? html`<span class="soft">…</span>` : pieces(text, values).map(([piece, number]) => (number === null ? piece : valueLink(app, entry, values, number, piece)));
  const unplaced = text === null || values.length === 0 ? 0 : values.length - new Set(pieces(text, values).map(([, number]) => number).filter((n) => n !== null)).size;
  return html`<section class="answer" aria-labelledby="answer-head">
    <div class="card-head"><h2 id="answer-head">Answer</h2>${turns(app, entries, entry)}
      ${entry.kind === "answer" ? nothing : html`<span class="badge s-warn">${NOTED[entry.kind]}</span>`}
      ${entry.judgement === null ? html`<span class="badge" title="No plugin judged this answer">values not checked</span>` : legend(app, entry, values)}
    </div>
    ${questionOf(app, entry)}
    <div class="said" id="said">${parts}</div>
    ${unplaced > 0 ? html`<p class="soft">${unplaced} more in the list of values, under the check in the timeline.</p>` : nothing}
    ${event?.data.truncated ? html`<p class="soft">The results were larger than what was indexed; an unsupported value may stand in the part that was not read.</p>` : nothing}
    ${entry.judgement === null ? unjudged(app, entry) : nothing}
  </section>`;
}

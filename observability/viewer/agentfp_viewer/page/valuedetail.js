// One value of an answer: what became of it, and the exact place that it comes from.

import { html, nothing } from "./vendor/lit-html.js";
import { contentView } from "./jsonview.js";
import { plural, textOf } from "./format.js";
import { fact, section } from "./parts.js";
import { STANDINGS, sourcesOf, standingOf } from "./values.js";
import { valueLink, valuesOf } from "./answer.js";
import { nestedLink, proposedOf, resultView } from "./call.js";

const HOW = {
  absent: "It is in no result, and nobody said it.",
  impossible: "There is no such date or time.",
  calendar: "The weekday does not go with the date.",
  misquoted: "The words in quotes stand nowhere like this.",
  echo: "Only a result that repeats what the model itself had passed to the tool holds it.",
  "unknown-name": "The name is in no result.",
  recombined: "Its parts stand in results, not together.",
};

function messageOf(app, entry, source) {
  if (source.call !== null && source.call !== undefined) {
    const call = app.thread.calls[source.call];
    const message = call === undefined ? undefined : app.thread.messages.find((one) => one.seq === call.msg);
    if (message !== undefined) return message;
  }
  if (source.message === null || source.message === undefined) return null;
  return app.thread.historyAt(entry.judgement.seq)[source.message] ?? null;
}

function named(app, entry, source) {
  const message = messageOf(app, entry, source);
  if (message === null) return "given to the run besides its messages";
  if (message.role !== "tool") return message.role === "user" ? "what the person said" : `a message of ${message.role}`;
  return app.thread.calls[message.call]?.tool ?? "a tool";
}

function placeView(app, entry, source, derivation) {
  const message = messageOf(app, entry, source);
  if (message === null) {
    return html`<p>It was given to the run besides its messages: in the instructions, the settings or the options of the run${source.path ? html`, at <code>${source.path}</code>` : nothing}.</p>`;
  }
  if (message.role === "tool") {
    const call = app.thread.calls[message.call];
    const row = call === undefined ? undefined : app.thread.rows[call.row];
    if (row === undefined) return nothing;
    const proposed = proposedOf(app, row);
    const earlier = row.t < entry.turn;
    return html`<div class="origin">
        <p><b>${call.tool}</b> ${earlier ? html`<span class="tag">from an earlier turn</span>` : nothing}
          ${source.path ? html`<code class="path">${source.path}</code>` : nothing}
          <button class="action" @click=${() => app.select(row.i, { jump: true })}>Show the call</button> ${nestedLink(app, message.call)}</p>
        ${proposed?.arguments ? html`<div class="asked-with"><span class="soft">called with</span> ${contentView(textOf(proposed.arguments), { id: `va${row.i}`, redraw: app.redraw })}</div>` : nothing}
      </div>
      <div class="result">${resultView(app, message.call, source.path ? [source.path] : [], derivation)}</div>`;
  }
  const text = app.thread.contentOf(message);
  const row = app.rowOf(message.seq);
  return html`<div class="origin"><p><b>${named(app, entry, source)}</b> ${source.path ? html`<code class="path">${source.path}</code>` : nothing}
      ${row === null ? nothing : html`<button class="action" @click=${() => app.select(row, { jump: true })}>Show it in the timeline</button>`}</p></div>
    <div class="result">${text === null ? html`<p class="soft">…</p>` : contentView(textOf(text), { id: `vm${message.seq}`, paths: [source.path], redraw: app.redraw })}</div>`;
}

export function valueView(app, detail) {
  const entry = app.entries().find((one) => one.key === detail.entry);
  const values = valuesOf(app, entry);
  const value = values[detail.number];
  if (value === undefined) return html`<h2 tabindex="-1">…</h2>`;
  const standing = standingOf(value);
  const { mark, word, told } = STANDINGS[standing];
  const sources = sourcesOf(value);
  const at = Math.min(detail.source, Math.max(sources.length - 1, 0));
  const choose = (n) => () => app.showValue(entry, detail.number, n);
  const sentence = standing === "unsupported" || standing === "weak" ? (HOW[value.how] ?? `It ${told}.`) : standing === "unverifiable" ? (HOW[value.how] ?? `It ${told} (${value.how || "no reason given"}).`) : `It ${told}.`;
  return html`<h2 tabindex="-1" class="value-head v-${standing}"><span class="pill"><span aria-hidden="true">${mark}</span> ${word}</span> ${value.text}</h2>
    <p class="sentence">${sentence}</p>
    <dl class="facts inline">
      ${fact("kind", value.kind)}${fact("how", value.how)}
      ${fact("worked out", value.derivation ? html`<code>${value.derivation}</code>` : "")}
      ${fact("nearest", value.near ? html`<code>${value.near}</code>` : "")}
      ${fact("field", value.path ? html`<code>${value.path}</code>` : "")}
    </dl>
    ${sources.length > 1 ? html`<div class="chips" role="group" aria-label="Places it comes from">${sources.map((source, n) => html`<button class="chip" aria-pressed=${n === at} @click=${choose(n)}>${named(app, entry, source)} <code>${source.path}</code></button>`)}</div>` : nothing}
    ${sources.length > 0 ? placeView(app, entry, sources[at], value.derivation ?? "") : standing === "unsupported" || standing === "weak" ? calledView(app, entry) : nothing}`;
}

function calledView(app, entry) {
  const rows = app.thread.rows.filter((row) => row.k === "tool" && row.seq < entry.key);
  if (rows.length === 0) return html`<p class="soft">No tool was called before this answer.</p>`;
  return section("looked", `Where it was looked for (${plural(rows.length, "call")})`, html`<ul class="list">${rows.slice(-50).map((row) => html`<li><button class="link" @click=${() => app.select(row.i, { jump: true })}>${row.label}</button> <span class="soft">turn ${row.t}, ${row.sub ?? "success"}</span></li>`)}</ul>`, { open: rows.length <= 12 });
}

// All values of one judgement.
export function valuesTable(app, judged) {
  const entry = app.entries().find((one) => one.judgement === judged);
  const event = app.thread.event(judged.seq);
  if (event === null) return html`<p class="soft">…</p>`;
  const values = event.data.values ?? [];
  const { on_unsupported: wish, profile, after_revision: again, misattached = [], tools = [] } = event.data;
  return html`<dl class="facts">${fact("decision", event.data.action)}${fact("where a value is unsupported", wish)}${fact("profile", profile)}${again ? fact("after", "a revision") : nothing}
      ${fact("evidence", `${plural(event.data.results ?? 0, "result")} of ${plural(event.data.calls ?? 0, "call")}`)}</dl>
    ${tools.map((tool) => html`<p class="soft">A call of ${textOf(tool.tool) || "a tool"} ${tool.standing === "failed" ? "failed: its result is no evidence" : "found nothing"}.</p>`)}
    ${misattached.map((m) => html`<p class="note">${textOf(m.value)} is stated for ${textOf(m.stated_for)}; the results have it for ${textOf(m.served_for)}.</p>`)}
    <table class="values"><thead><tr><th scope="col">value</th><th scope="col">kind</th><th scope="col">verdict</th><th scope="col">how</th><th scope="col">from</th></tr></thead>
    <tbody>${values.map((value, number) => {
      const standing = standingOf(value);
      return html`<tr><td>${entry ? valueLink(app, entry, values, number, value.text) : value.text}</td><td>${value.kind}</td><td><span class="v-${standing}">${STANDINGS[standing].mark} ${STANDINGS[standing].word}</span></td>
        <td>${value.derivation || value.how}</td><td>${sourcesOf(value).slice(0, 3).map((source) => html`<code>${source.path || "–"}</code> `)}</td></tr>`;
    })}</tbody></table>`;
}

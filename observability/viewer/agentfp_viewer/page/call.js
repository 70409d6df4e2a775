// One tool call: what the model asked, who decided over it, what ran, what came back, and which values of an answer stand there.

import { html, nothing } from "./vendor/lit-html.js";
import { ms, plural, textOf } from "./format.js";
import { content, eventCards, fact, rawEvents, section, untold } from "./parts.js";
import { sourcesOf } from "./values.js";
import { valueLink, valuesOf } from "./answer.js";

export function proposedOf(app, row) {
  for (let i = app.thread.messages.length - 1; i >= 0; i -= 1) {
    const message = app.thread.messages[i];
    if (message.role !== "assistant" || message.seq > row.seq) continue;
    const event = app.thread.event(message.seq);
    if (event === null) return null;
    return event.data.tool_calls?.find((call) => call.id === row.call) ?? {};
  }
  return {};
}

// The values of answers that come from a call: [entry, values, number, path].
function groundedBy(app, callId) {
  const found = [];
  for (const entry of app.entries()) {
    const values = valuesOf(app, entry);
    values.forEach((value, number) => {
      for (const source of sourcesOf(value)) if (source.call === callId) found.push({ entry, values, number, path: source.path });
    });
  }
  return found;
}

function argumentsView(app, row, events) {
  const proposed = proposedOf(app, row);
  if (proposed === null) return section("arguments", "Arguments", html`<p class="soft">…</p>`, { open: true });
  const asked = textOf(proposed.arguments ?? "");
  const rewritten = (events ?? []).findLast((event) => event.name === "agentfp.hook.verdict" && event.call === row.call && event.data.arguments);
  const ran = rewritten === undefined ? null : textOf(rewritten.data.arguments);
  return section(
    "arguments",
    "Arguments",
    html`${asked ? content(app, proposed.arguments, { id: `args${row.i}` }) : html`<p class="soft">not recorded</p>`}
      ${ran !== null && ran !== asked ? html`<h4>as ${rewritten.data.plugin} had it run</h4>${content(app, rewritten.data.arguments, { id: `ran${row.i}` })}` : nothing}`,
    { open: true },
  );
}

// The result of a call as the model read it, with places marked; also what the tool itself gave where that is something else.
export function resultView(app, callId, paths, derivation = "") {
  const call = app.thread.calls[callId];
  if (call === undefined) return html`<p class="soft">The result is not in this recording.</p>`;
  const ended = app.thread.event(call.ended);
  const message = app.thread.messages.find((one) => one.seq === call.msg);
  const read = message === undefined ? (ended?.data.content ?? null) : app.thread.contentOf(message);
  if (read === null) return html`<p class="soft">${call.ended === undefined && call.msg === undefined ? "There is no result yet." : "…"}</p>`;
  const notes = message === undefined ? [] : (app.thread.event(message.seq)?.data.notes ?? []);
  return html`
    ${call.changed && ended !== null ? html`<p class="soft">The model read this; the tool itself gave something else: see below.</p>` : nothing}
    ${content(app, read, { id: `result${callId}`, paths, derivation, seq: message?.seq ?? call.ended })}
    ${notes.map((note) => html`<p class="note">note: ${textOf(note)}</p>`)}
    ${call.changed && ended !== null ? section("own", "What the tool itself gave", content(app, ended.data.content, { id: `own${callId}`, seq: call.ended })) : nothing}
    ${ended?.data.error ? html`<p class="caption">${ended.data.error_class}</p>${content(app, ended.data.error, { id: `error${callId}`, seq: call.ended })}` : nothing}
    ${ended?.data.private ? section("private", "Kept from the model", content(app, ended.data.private, { id: `private${callId}`, seq: call.ended })) : nothing}`;
}

export function nestedLink(app, callId) {
  const nested = app.thread.overview.threads.find((one) => one.path.at(-1) === callId);
  return nested === undefined ? nothing : html`<button class="action" @click=${() => app.openThread(nested.key)}>Open the nested run</button>`;
}

export function callView(app, row) {
  const events = app.thread.range(row.seq, row.end, row.s === "open");
  const decisions = events === null ? [] : untold(events).filter((event) => event.call === row.call);
  const grounded = groundedBy(app, row.call);
  const names = grounded.filter((one, i) => grounded.findIndex((other) => other.entry.key === one.entry.key && other.number === one.number) === i);
  return html`<h2 tabindex="-1"><span class="kind">tool call</span> ${row.label} <span class="badge s-${row.s}">${row.sub ?? (row.s === "open" ? "runs" : "success")}</span> ${nestedLink(app, row.call)}</h2>
    <dl class="facts inline">
      ${fact("took", app.thread.overview.untimed ? "" : ms(row.d))}
      ${fact("turn", row.t || "")}
      ${fact("asked by", row.p === undefined ? "" : html`<button class="link" @click=${() => app.select(row.p, { jump: true })}>${app.thread.rows[row.p].label}</button>`)}
      ${fact("id", html`<code>${row.call}</code>`)}
    </dl>
    ${names.length > 0 ? html`<p class="grounds">${plural(names.length, "value")} of the answer ${names.length === 1 ? "stands" : "stand"} here:
      ${names.map(({ entry, values, number }) => html`${valueLink(app, entry, values, number, values[number].text)} `)}</p>` : nothing}
    ${argumentsView(app, row, events)}
    ${section("result", "Result", resultView(app, row.call, grounded.map((one) => one.path).filter((path) => path !== "$")), { open: true })}
    ${decisions.length > 0 ? section("decisions", plural(decisions.length, "decision"), eventCards(app, decisions), { open: true }) : nothing}
    ${rawEvents(app, events)}`;
}


// Small parts that several views are made of.

import { html, nothing } from "./vendor/lit-html.js";
import { contentView } from "./jsonview.js";
import { cutAt, count, textOf } from "./format.js";

export function fact(name, value) {
  return value === null || value === undefined || value === "" ? nothing : html`<dt>${name}</dt><dd>${value}</dd>`;
}

export function section(key, title, body, { open = false, note = nothing } = {}) {
  return html`<details class="part part-${key}" ?open=${open}><summary><h3>${title}</h3>${note}</summary><div class="body">${body}</div></details>`;
}

// A text that an event holds: as JSON or as text, with a word where it came cut.
export function content(app, value, options) {
  const cut = cutAt(value);
  const shown = contentView(textOf(value), { redraw: app.redraw, ...options });
  if (cut === null) return shown;
  const url = options.seq === undefined ? null : app.thread.source.eventUrl(options.seq);
  const whole = url === null ? nothing : html` <a href=${url}>download the whole event</a>`;
  return html`${shown}<p class="soft">${count(cut)} characters; cut here.${whole}</p>`;
}

export function by(plugin, key) {
  return html`<span class="by">${plugin === "kernel" ? "agent" : plugin}${key ? html` <i>${key}</i>` : nothing}</span>`;
}

// Which event types are told in full by other parts of a step.
const TOLD = new Set([
  "agentfp.message.added", "agentfp.context.served", "agentfp.context.blob", "agentfp.stream.llm_end", "agentfp.tool.started",
  "agentfp.tool.dispatched", "agentfp.tool.ended", "agentfp.cost.tick", "agentfp.agent.iteration_start", "agentfp.agent.iteration_end",
  "agentfp.evidence.checked", "agentfp.agent.turn_start", "agentfp.context.budget_pressure",
]);

export function untold(events) {
  return events.filter((event) => !TOLD.has(event.name));
}

function field(app, event, name, value) {
  if (value === null || value === undefined) return nothing;
  const text = textOf(value);
  if (typeof value !== "object" && text.length < 120 && !text.includes("\n")) return html`<dt>${name.replaceAll("_", " ")}</dt><dd>${text}</dd>`;
  return html`<dt>${name.replaceAll("_", " ")}</dt><dd>${content(app, value, { id: `${event.seq}.${name}`, seq: event.seq })}</dd>`;
}

// Events of any plugin, each as a card: its name, who filed it, its fields.
export function eventCards(app, events) {
  return events.map((event) => {
    const data = event.data && typeof event.data === "object" ? event.data : { data: event.data };
    return html`<article class="event">
      <header><b>${event.name.replace(/^agentfp\./, "").replaceAll("_", " ").replaceAll(".", " · ")}</b> ${by(event.src)}</header>
      <dl class="facts">${Object.entries(data).map(([name, value]) => field(app, event, name, value))}</dl>
    </article>`;
  });
}

export function rawEvents(app, events) {
  if (events === null) return section("raw", "Raw events", html`<p class="soft">…</p>`);
  const one = (event) => {
    const url = app.thread.source.eventUrl(event.seq);
    return html`<details class="raw"><summary><code>${event.seq}</code> ${event.name} <span class="soft">${event.src}</span></summary>
      ${contentView(JSON.stringify(event), { id: `raw${event.seq}`, redraw: app.redraw })}
      ${url === null ? nothing : html`<a href=${url}>download</a>`}</details>`;
  };
  return section("raw", `Raw events (${count(events.length)})`, html`${events.slice(0, 300).map(one)}${events.length > 300 ? html`<p class="soft">and ${count(events.length - 300)} more</p>` : nothing}`);
}

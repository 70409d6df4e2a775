// The list of runs of a folder.

import { html, nothing } from "./vendor/lit-html.js";
import { bytes, count, moment, ms } from "./format.js";

function standing(run) {
  if (!run.values) return html`<span class="soft">not checked</span>`;
  const { supported, unverifiable, strong, unsupported } = run.values;
  if (unsupported > 0) return html`<span class="badge s-${strong > 0 ? "bad" : "warn"}">✕ ${unsupported} unsupported</span>`;
  if (unverifiable > 0) return html`<span class="badge s-warn">? ${unverifiable} cannot be told</span>`;
  return html`<span class="badge s-ok">✓ ${supported} supported</span>`;
}

const STATUS = { answered: "s-ok", paused: "s-warn", stopped_early: "s-warn", refused: "s-bad", failed: "s-bad", cancelled: "s-bad", open: "s-open" };

export function runsView(app) {
  const wanted = app.filter.trim().toLowerCase();
  const runs = app.runs.filter((run) => wanted === "" || `${run.name} ${run.question ?? ""} ${run.status ?? ""}`.toLowerCase().includes(wanted));
  return html`<main class="runs" id="main">
    <div class="tools"><h1>${app.boot.name} <small>${count(runs.length)} ${runs.length === app.runs.length ? "" : `of ${count(app.runs.length)} `}files</small></h1>
      <input id="filter" type="search" placeholder="Filter runs" aria-label="Filter runs" .value=${app.filter} @input=${(event) => { app.filter = event.target.value; app.redraw(); }} /></div>
    <table><thead><tr><th scope="col">run</th><th scope="col">status</th><th scope="col">values</th><th scope="col">model calls</th><th scope="col">tokens</th><th scope="col">took</th><th scope="col">begun</th><th scope="col">size</th></tr></thead>
    <tbody>${runs.map((run) => html`<tr>
      <td><a href="#run=${run.id}" @click=${(event) => { event.preventDefault(); app.filter = ""; app.open(run.id); }}>${run.question || run.name}</a><br /><span class="soft">${run.name}${run.model ? ` · ${run.model}` : ""}</span></td>
      <td>${run.status ? html`<span class="badge ${STATUS[run.status] ?? ""}">${run.status.replace("_", " ")}</span>` : html`<span class="soft">${run.recording ? "" : "another format"}</span>`}</td>
      <td>${standing(run)}</td><td class="n">${run.calls === undefined ? "" : count(run.calls)}</td>
      <td class="n">${run.tokens && run.tokens[0] !== null ? html`${count(run.tokens[0])} → ${count(run.tokens[1])}` : nothing}</td>
      <td class="n">${ms(run.ms)}</td><td>${moment(run.started_ns)}</td><td class="n">${bytes(run.size)}</td></tr>`)}</tbody></table>
    ${runs.length === 0 ? html`<p class="soft pad">No run fits.</p>` : nothing}
  </main>`;
}

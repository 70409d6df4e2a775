// One model call: the request as it was served, with who added each piece; the reply; what became of its calls; who stepped in.

import { html, nothing } from "./vendor/lit-html.js";
import { count, ms, plural, textOf, usd } from "./format.js";
import { contentView } from "./jsonview.js";
import { by, content, eventCards, fact, rawEvents, section, untold } from "./parts.js";
import { requestOf, servedText } from "./requests.js";

const FIRST = 30;

function piece(app, one, fresh) {
  const body = app.thread.blob(one.digest);
  return html`<article class="piece">
    <header>${by(one.plugin, one.key)}${one.quoted ? html` <span class="tag" title="repeats what the model or a tool said">quoted</span>` : nothing}${fresh ? html` <span class="tag new">new</span>` : nothing}</header>
    ${body === null ? html`<p class="soft">…</p>` : content(app, body, { id: one.digest })}
  </article>`;
}

function messageView(app, entry, isNew) {
  const { message, ticket } = entry;
  const event = app.thread.event(message.seq);
  const text = servedText(app.thread, entry);
  const calls = event?.data.tool_calls ?? [];
  const whose = message.role === "tool" ? (event?.data.tool_name ?? "tool") : message.role;
  const go = app.rowOf(message.seq);
  return html`<article class="message m-${message.role}">
    <header><b>${whose}</b>${message.author && !["person", "model", "tool"].includes(message.author) ? by(message.author.replace(/^plugin:/, "")) : nothing}
      ${ticket ? html`<span class="tag" title="a short text was served in place of the whole">shortened by ${ticket.plugin}</span>` : nothing}
      ${isNew ? html`<span class="tag new">new</span>` : nothing}
      ${event?.data.notes?.length ? html`<span class="tag">${plural(event.data.notes.length, "note")} added</span>` : nothing}
      ${message.role === "tool" && go !== null && app.thread.rows[go].k === "tool" ? html`<button class="link" @click=${() => app.select(go, { jump: true })}>call</button>` : nothing}</header>
    ${text === null ? html`<p class="soft">…</p>` : text === "" ? nothing : content(app, text, { id: `m${message.seq}`, seq: message.seq })}
    ${calls.map((call) => html`<div class="calls"><b>${textOf(call.name)}</b> ${contentView(textOf(call.arguments), { id: `a${call.id}`, redraw: app.redraw })}</div>`)}
    ${event?.data.parts ? html`<p class="soft">with parts that are no text; see the raw event</p>` : nothing}
  </article>`;
}

function messages(app, request, row) {
  const from = request.newFrom < 0 ? request.messages.length : request.newFrom;
  const key = `old-${row.i}`;
  const limit = app.opened.has(`${key}-all`) ? from : Math.min(from, FIRST);
  const older = () => {
    app.opened[app.opened.has(key) ? "delete" : "add"](key);
    app.redraw();
  };
  const all = () => {
    app.opened.add(`${key}-all`);
    app.redraw();
  };
  const earlier = app.opened.has(key) ? request.messages.slice(from - limit, from).map((entry) => messageView(app, entry, false)) : nothing;
  return html`
    ${from > 0 ? html`<button class="fold" aria-expanded=${app.opened.has(key)} @click=${older}>${plural(from, "message")} as in the call before</button>` : nothing}
    ${app.opened.has(key) && limit < from ? html`<button class="link" @click=${all}>show the ${count(from - limit)} before these</button>` : nothing}
    ${earlier}
    ${request.messages.slice(from).map((entry) => messageView(app, entry, row.n > 1))}
    ${request.late.map((one) => html`<article class="message m-late"><header><b>user</b> ${by(one.plugin, one.key)} <span class="tag" title="a line after the messages, for this call only">for this call</span></header>
      ${app.thread.blob(one.digest) === null ? html`<p class="soft">…</p>` : content(app, app.thread.blob(one.digest), { id: one.digest })}</article>`)}
    ${request.hidden.map(({ message, by: who }) => html`<p class="hidden-note">a message of ${message.role} is hidden by ${who.join(", ")}</p>`)}`;
}

function toolList(app, request) {
  return html`<ul class="toolset">${request.tools.map((tool) => html`<li><details><summary><b>${tool.name}</b>${request.addedBy.has(tool.name) ? html` ${by(request.addedBy.get(tool.name))}` : nothing}</summary>
    ${toolBody(app, tool)}</details></li>`)}
    ${request.heldOut.map(({ name, by: who }) => html`<li class="soft">${name} is held out by ${who.join(", ")}</li>`)}
    ${request.decorations.map((d) => html`<li><b>${d.property}</b> is asked for with ${d.only ? d.only.join(", ") : "every tool"} ${by(d.plugin)}</li>`)}</ul>`;
}

function toolBody(app, tool) {
  const body = app.thread.blob(tool.digest);
  if (body === null) return html`<p class="soft">…</p>`;
  try {
    const spec = JSON.parse(textOf(body));
    return html`<p class="prose">${spec.description}</p>${contentView(spec.parameters_json ?? "", { id: tool.digest, redraw: app.redraw })}`;
  } catch {
    return content(app, body, { id: tool.digest });
  }
}

function receipt(app, request) {
  const found = app.thread.receipts;
  const short = html`<code title=${request.receipt ?? ""}>${(request.receipt ?? "").slice(0, 12)}</code>`;
  if (!request.receipt) return nothing;
  if (found === null || found.why) return html`<span class="soft" title=${found?.why ?? ""}>receipt ${short}, not checked</span>`;
  if (request.call > found.upto) {
    app.thread.checkReceipts(); // of a run that went on since
    return html`<span class="soft">receipt ${short}, being checked</span>`;
  }
  return found.bad.includes(request.call) ? html`<span class="bad">✕ the request does not hash to its receipt ${short}</span>` : html`<span class="good">✓ hashes to its receipt ${short}</span>`;
}

function requestView(app, row) {
  const index = app.thread.served.findIndex((served) => served.seq === row.seq);
  if (index < 0) return section("request", "Request", html`<p class="soft">Not recorded: the file tells what was said, and not what was sent to the model.</p>`);
  const request = requestOf(app.thread, index);
  const previous = index > 0 ? new Set(requestOf(app.thread, index - 1).system.map((one) => one.digest)) : null;
  const changes = [request.changed.system ? "system text changed" : "", request.changed.tools ? "tools changed" : ""].filter(Boolean).join(", ");
  const summary = `${plural(request.messages.length + request.late.length, "message")}, ${plural(request.tools.length, "tool")}`;
  return section(
    "request",
    "Request, as it was served",
    html`<p class="receipt">${receipt(app, request)} ${changes ? html`<span class="tag new">${changes}</span>` : nothing}</p>
      ${request.edits.map((edit) => html`<p class="edit">${by(edit.plugin)} ${edit.op.replace("_", " ")} ${app.thread.messageById.has(edit.target) ? "a message" : edit.target}</p>`)}
      <h4>System text</h4>
      ${request.system.length === 0 ? html`<p class="soft">none</p>` : request.system.map((one) => piece(app, one, previous !== null && !previous.has(one.digest)))}
      <h4>Messages</h4>
      ${messages(app, request, row)}
      <h4>Tools</h4>
      ${request.tools.length + request.heldOut.length === 0 ? html`<p class="soft">none</p>` : toolList(app, request)}
      ${["{}", '{"settings":{}}'].includes(textOf(request.params)) ? nothing : html`<h4>Parameters</h4>${content(app, request.params, { id: `p${row.i}` })}`}`,
    { open: true, note: html`<span class="soft">${summary}</span>` },
  );
}

function replyView(app, row) {
  if (row.msg === undefined) {
    const said = row.s === "open" ? "The reply is on its way." : "No reply was accepted.";
    return section("reply", "Reply", html`<p class="soft">${said}</p>`, { open: true });
  }
  const event = app.thread.event(row.msg);
  if (event === null) return section("reply", "Reply", html`<p class="soft">…</p>`, { open: true });
  const { content: text, thinking, tool_calls: calls } = event.data;
  return section(
    "reply",
    "Reply",
    html`${(thinking ?? []).map((block) => html`<details class="thinking"><summary>thinking</summary><div class="prose">${textOf(block.text) || "(not shown by the provider)"}</div></details>`)}
      ${text ? html`<div class="prose">${textOf(text)}</div>` : nothing}
      ${(calls ?? []).map((call) => html`<div class="calls"><b>${textOf(call.name)}</b> ${contentView(textOf(call.arguments), { id: `r${call.id}`, redraw: app.redraw })}</div>`)}
      ${!text && !calls?.length ? html`<p class="soft">empty</p>` : nothing}`,
    { open: true, note: html`<span class="soft">${row.stop ?? ""}</span>` },
  );
}

function callsView(app, row) {
  const rows = app.thread.rows.filter((one) => one.p === row.i && one.k === "tool");
  if (rows.length === 0) return nothing;
  return section("calls", plural(rows.length, "tool call"), html`<ul class="list">${rows.map((one) => html`<li><button class="link" @click=${() => app.select(one.i, { jump: true })}>${one.label}</button>
    <span class="badge s-${one.s}">${one.sub ?? (one.s === "open" ? "runs" : "success")}</span> <span class="soft">${ms(one.d)}</span></li>`)}</ul>`, { open: true });
}

export function stepView(app, row) {
  const { to, open } = app.thread.stepEnd(row);
  const events = app.thread.range(row.seq, to, open);
  const others = events === null ? [] : untold(events).filter((event) => event.name !== "agentfp.agent.route_decided");
  const tokens = row.tok ?? [];
  const names = ["in", "out", "from cache", "into cache", "thinking"];
  return html`<h2 tabindex="-1">${row.n === undefined ? html`<span class="kind">model</span> The model calls tools` : html`<span class="kind">step ${row.n}</span> ${row.label}`}</h2>
    <dl class="facts inline">
      ${fact("took", app.thread.overview.untimed ? "" : ms(row.d))}
      ${fact("tokens", tokens.map((n, i) => (n === null ? "" : `${count(n)} ${names[i]}`)).filter(Boolean).join(", "))}
      ${fact("cost", usd(row.usd))}
      ${fact("turn", row.t || "")}
    </dl>
    ${replyView(app, row)}
    ${callsView(app, row)}
    ${others.length > 0 ? section("decisions", plural(others.length, "decision"), eventCards(app, others), { open: others.length < 6 }) : nothing}
    ${requestView(app, row)}
    ${rawEvents(app, events)}`;
}

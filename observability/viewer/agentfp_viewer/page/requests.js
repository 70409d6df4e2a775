// Puts a request together as it was served: the edits of all calls up to it, folded. The kernel does the same when it rebuilds one.

function editMessages(state, edit) {
  const { op, plugin, target } = edit;
  if (op === "ticket") {
    const tickets = state.tickets.get(target) ?? new Map();
    tickets.delete(plugin);
    tickets.set(plugin, edit.digest);
    state.tickets.set(target, tickets);
  } else if (op === "hide") {
    state.hidden.set(target, (state.hidden.get(target) ?? new Set()).add(plugin));
  } else {
    state.tickets.get(target)?.delete(plugin);
    state.hidden.get(target)?.delete(plugin);
  }
}

function editTools(state, edit) {
  const { op, plugin, target } = edit;
  if (op === "decorate") state.decorations.set(`${plugin} ${target}`, { plugin, property: target, digest: edit.digest, only: edit.only });
  else if (op === "undecorate") state.decorations.delete(`${plugin} ${target}`);
  else if (op === "hold_out") state.heldOut.set(target, (state.heldOut.get(target) ?? new Set()).add(plugin));
  else if (op === "let_in") state.heldOut.get(target)?.delete(plugin);
  else if (op === "add_tool") state.added.set(target, plugin);
  else if (op === "drop_tool" && state.added.get(target) === plugin) state.added.delete(target);
}

// The request of one model call, by references: what it was made of and who added each part. `index` is its place in thread.served.
export function requestOf(thread, index) {
  const state = { pieces: [], tools: [], params: "{}", cache: [], provider: "", model: "" };
  Object.assign(state, { tickets: new Map(), hidden: new Map(), decorations: new Map(), heldOut: new Map(), added: new Map() });
  let before = null;
  for (let i = 0; i <= index; i += 1) {
    const served = thread.served[i];
    if (i === index) before = { pieces: state.pieces, tools: state.tools, params: state.params };
    for (const edit of served.edits ?? []) {
      if (edit.op === "ticket" || edit.op === "hide" || edit.op === "restore") editMessages(state, edit);
      else editTools(state, edit);
    }
    for (const name of ["pieces", "tools", "params", "cache"]) if (served[name] !== undefined) state[name] = served[name];
    if (served.model !== undefined) Object.assign(state, { model: served.model, provider: served.provider ?? "" });
  }
  const served = thread.served[index];
  const messages = [];
  const hidden = [];
  for (const message of thread.messages) {
    if (message.seq > served.seq) break;
    if (message.role === "system") continue;
    const by = [...(state.hidden.get(message.id) ?? [])];
    if (thread.withdrawn[message.id] < served.seq) by.push("kernel");
    const tickets = [...(state.tickets.get(message.id) ?? [])];
    const ticket = tickets.length > 0 ? { plugin: tickets.at(-1)[0], digest: tickets.at(-1)[1] } : null;
    if (by.length > 0) hidden.push({ message, by });
    else messages.push({ message, ticket });
  }
  const last = index > 0 ? thread.served[index - 1].seq : -1;
  return {
    call: served.call,
    seq: served.seq,
    receipt: served.receipt,
    provider: state.provider,
    model: state.model,
    system: state.pieces.filter((piece) => piece.slot === "system"),
    late: state.pieces.filter((piece) => piece.slot === "late"),
    messages,
    hidden,
    newFrom: messages.findIndex(({ message }) => message.seq > last),
    tools: state.tools.filter((tool) => !((state.heldOut.get(tool.name)?.size ?? 0) > 0)),
    heldOut: [...state.heldOut].filter(([, by]) => by.size > 0).map(([name, by]) => ({ name, by: [...by] })),
    addedBy: state.added,
    decorations: [...state.decorations.values()],
    params: state.params,
    cache: state.cache,
    edits: served.edits ?? [],
    changed: {
      system: before.pieces !== state.pieces && index > 0,
      tools: before.tools !== state.tools && index > 0,
      params: before.params !== state.params && index > 0,
    },
  };
}

// The text of a served message, as the model reads it: its short text, or its content and the notes after it; null while it is fetched.
export function servedText(thread, { message, ticket }) {
  if (ticket !== null) return thread.blob(ticket.digest);
  const event = thread.event(message.seq);
  const content = event === null ? null : (event.data.own ?? thread.contentOf(message));
  if (content === null || typeof content !== "string") return content;
  return [content, ...(event.data.notes ?? [])].join("\n\n");
}

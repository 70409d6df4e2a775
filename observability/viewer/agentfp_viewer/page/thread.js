// What the page holds of one thread: its rows and outline, and the events that were looked at.

const KEPT = 4000;

export class Thread {
  constructor(source, changed) {
    this.source = source;
    this.changed = changed;
    this.events = new Map();
    this.asked = new Set();
    this.failed = new Set();
    this.ranges = new Map();
    this.receipts = null;
    this.clear();
  }

  clear() {
    this.generation = null;
    this.rev = 0;
    this.overview = null;
    this.rows = [];
    this.messages = [];
    this.messageById = new Map();
    this.blobs = new Map();
    this.blobCount = 0;
    this.served = [];
    this.withdrawn = {};
    this.answers = [];
    this.calls = {};
    this.events.clear();
    this.ranges.clear();
  }

  async refresh() {
    for (;;) {
      const since = { rev: this.rev, rows: this.rows.length, messages: this.messages.length, blobs: this.blobCount };
      since.served = this.served.length;
      if (this.generation !== null) since.generation = this.generation;
      const news = await this.source.changes(since);
      if (this.generation !== null && news.generation !== this.generation) this.clear();
      this.take(news);
      this.changed();
      if (!news.more) return;
    }
  }

  take(news) {
    this.generation = news.generation;
    this.rev = news.rev;
    this.overview = news.overview;
    for (const row of news.rows) this.rows[row.i] = row;
    for (const [seq, id, role, author, call, contentOf] of news.messages) {
      const message = { seq, id, role, author, call, contentOf, index: this.messages.length };
      this.messages.push(message);
      this.messageById.set(id, message);
    }
    for (const [digest, seq] of news.blobs) this.blobs.set(digest, seq);
    this.blobCount += news.blobs.length;
    this.served.push(...news.served);
    this.withdrawn = news.withdrawn;
    this.answers = news.answers;
    Object.assign(this.calls, news.calls);
    for (const key of [...this.ranges.keys()]) if (key.endsWith("-open")) this.ranges.delete(key);
  }

  // An event, or null while it is fetched; what draws the page asks again when it is there.
  event(seq) {
    if (seq === null || seq === undefined) return null;
    const found = this.events.get(seq);
    if (found !== undefined) return found;
    if (!this.asked.has(seq) && !this.failed.has(seq)) {
      if (this.asked.size === 0) queueMicrotask(() => this.fetch());
      this.asked.add(seq);
    }
    return null;
  }

  async fetch() {
    const seqs = [...this.asked].sort((a, b) => a - b).slice(0, 200);
    try {
      const found = await this.source.events(seqs);
      this.keep(found);
      const got = new Set(found.map((event) => event.seq));
      for (const seq of seqs) {
        this.asked.delete(seq);
        // What did not fit into one answer is asked for again; what never comes is not.
        if (!got.has(seq) && found.length === 0) this.failed.add(seq);
      }
    } catch {
      for (const seq of seqs) {
        this.asked.delete(seq);
        this.failed.add(seq);
      }
    }
    this.changed();
    if (this.asked.size > 0) this.fetch();
  }

  keep(events) {
    if (this.events.size > KEPT) this.events.clear();
    for (const event of events) this.events.set(event.seq, event);
  }

  // The events from one to another, or null while they are fetched.
  range(from, to, open) {
    const key = `${from}-${to}${open ? "-open" : ""}`;
    const found = this.ranges.get(key);
    if (found !== undefined) return found.events;
    const wanted = { events: null };
    if (this.ranges.size > 60) this.ranges.clear();
    this.ranges.set(key, wanted);
    this.source.range(from, to).then(
      (events) => {
        wanted.events = events;
        this.changed();
      },
      () => {
        wanted.events = [];
        this.changed();
      },
    );
    return null;
  }

  async checkReceipts() {
    if (this.checking) return;
    this.checking = true;
    this.receipts = await this.source.receipts().catch((error) => ({ why: error.message }));
    this.checking = false;
    this.changed();
  }

  blob(digest) {
    const event = this.event(this.blobs.get(digest));
    return event === null ? null : event.data.body;
  }

  // The history as it was before an event: the messages that a judge counted.
  historyAt(seq) {
    return this.messages.filter((m) => m.seq < seq && !(m.id in this.withdrawn && this.withdrawn[m.id] < seq));
  }

  // Where a step of the loop ends: before the next row that is not part of it.
  stepEnd(row) {
    const heads = new Set(["model", "leg", "person", "answer", "end"]);
    for (let i = row.i + 1; i < this.rows.length; i += 1) {
      if (heads.has(this.rows[i].k)) return { to: this.rows[i].seq - 1, open: false };
    }
    return { to: Number.MAX_SAFE_INTEGER, open: true };
  }

  // The content of a message, as the model read it; null while it is fetched.
  contentOf(message) {
    const event = this.event(message.seq);
    if (event === null) return null;
    if (event.data.content !== undefined && event.data.content !== null) return event.data.content;
    if (message.contentOf === null || message.contentOf === undefined) return "";
    const ended = this.event(message.contentOf);
    return ended === null ? null : (ended.data.content ?? "");
  }
}

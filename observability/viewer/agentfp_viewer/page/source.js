// Where the page's data comes from: the server that it came from, or blocks in the page itself.

function block(id) {
  const found = document.getElementById(id);
  return found === null ? null : JSON.parse(found.textContent);
}

export const boot = block("boot") ?? { mode: "serve" };

async function ask(path) {
  const answer = await fetch(path, { cache: "no-store" });
  if (!answer.ok) throw new Error((await answer.text()).trim() || `the server answered ${answer.status}`);
  return answer.json();
}

function served(run, thread) {
  const base = `api/run/${encodeURIComponent(run)}`;
  const query = (values) => new URLSearchParams({ ...(thread === null ? {} : { thread }), ...values }).toString();
  return {
    changes: (since) => ask(`${base}/changes?${query(since)}`),
    events: (seqs) => ask(`${base}/events?${query({ seqs: seqs.join(",") })}`),
    range: (from, to) => ask(`${base}/events?${query({ from, to })}`),
    search: (q) => ask(`${base}/search?${query({ q })}`),
    receipts: () => ask(`${base}/receipts?${query({})}`),
    eventUrl: (seq) => `${base}/event/${seq}?${query({})}`,
    follow(heard, lost) {
      const stream = new EventSource(`${base}/follow`);
      stream.onmessage = heard;
      stream.onerror = lost;
      stream.onopen = () => lost(null);
      return () => stream.close();
    },
  };
}

async function unpack(text) {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

async function searchIn(thread, about, chunk, text, most) {
  const wanted = text.toLowerCase();
  const found = [];
  for (let n = 0; n < about.firsts.length && found.length < most; n += 1) {
    for (const event of await chunk(n)) {
      const line = JSON.stringify(event.data ?? null).replaceAll("\\\\", "\\").replaceAll('\\"', '"').replaceAll("\\n", "\n");
      const at = line.toLowerCase().indexOf(wanted);
      if (at >= 0 && found.length < most) {
        found.push({ thread, seq: event.seq, around: line.slice(Math.max(at - 60, 0), at + text.length + 100), at: Math.min(at, 60) });
      }
    }
  }
  return found;
}

function inPage(thread) {
  const about = boot.threads[thread ?? boot.first];
  const opened = new Map();
  const chunk = (number) => {
    if (!opened.has(number)) {
      if (opened.size > 20) opened.delete(opened.keys().next().value);
      opened.set(number, unpack(block(`${about.id}-${number}`)));
    }
    return opened.get(number);
  };
  const chunkOf = (seq) => {
    let low = 0;
    let high = about.firsts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (about.firsts[middle] <= seq) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  const range = async (from, to) => {
    const found = [];
    for (let n = chunkOf(from); n <= chunkOf(to) && n < about.firsts.length; n += 1) {
      found.push(...(await chunk(n)).filter((event) => event.seq >= from && event.seq <= to));
    }
    return found;
  };
  return {
    changes: async () => unpack(block(`${about.id}-outline`)),
    async events(seqs) {
      const found = [];
      for (const seq of seqs) found.push(...(await range(seq, seq)));
      return found;
    },
    range,
    async search(text) {
      const own = thread ?? boot.first;
      const found = await searchIn(own, about, chunk, text, 200);
      for (const [key, other] of Object.entries(boot.threads)) {
        if (key === own || found.length >= 200) continue;
        const read = (number) => unpack(block(`${other.id}-${number}`));
        found.push(...(await searchIn(key, other, read, text, 200 - found.length)));
      }
      return found;
    },
    receipts: async () => about.receipts,
    eventUrl: () => null,
    follow: null,
  };
}

export function openSource(run, thread) {
  return boot.mode === "file" ? inPage(thread) : served(run, thread);
}

export function listRuns() {
  return ask("api/runs");
}

// The child process of `crashSuite`: `crash-process <module> <inbox|store> <run> <name> <work|drain>`. It writes each line before its next step,
// so that the lines show what the process knew when it was killed.
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import type { DedupeStore, InboxQueue, InboxWriter, TakenEvent } from "@esim-webhooks/core";
import { entryOf, type OpenInbox } from "../inbox/inbox-context.ts";
import type { OpenStore } from "../store/store-context.ts";
import { type Line, laneOf, leaseMs } from "./crash-history.ts";

const [module = "", kind = "", run = "", name = "", mode = ""] = process.argv.slice(2);
const type = `crash.${run}`;

type Unwritten<Of = Line> = Of extends Line ? Omit<Of, "at"> : never;

/** A write to a pipe is synchronous, except on Windows. */
function write(line: Unwritten): void {
  process.stdout.write(`${JSON.stringify({ ...line, at: now() })}\n`);
}

/** Reads a clock that is the same in all processes of a machine. */
function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

function chance(of: number): boolean {
  return Math.random() < of;
}

const { default: open } = await import(module);
if (kind === "store") await runStore(await (open as OpenStore)({ timeoutMs: 30_000 }));
else {
  const options = { timeoutMs: 30_000, lane: ({ id }: { id: string }) => laneOf(id).lane };
  await runInbox(await (open as OpenInbox<InboxWriter>)(options));
}

async function runInbox(inbox: InboxWriter & Partial<InboxQueue>): Promise<void> {
  const isQueue = inbox.capabilities.roles.includes("queue");
  const queue = inbox as InboxWriter & InboxQueue;
  const entry = (id: string) => {
    const timestamp = new Date(laneOf(id).place).toISOString();
    return { ...entryOf(run, id, type, {}, timestamp), receivedAt: new Date() };
  };
  if (mode === "drain") {
    for (let idleSince = now(); isQueue && now() - idleSince < 4 * leaseMs; ) {
      const taken = await take(queue, 50);
      if (taken.length === 0) await pause(20);
      else idleSince = now();
      await Promise.all(taken.map((one) => end(queue, one, "done")));
    }
    for await (const id of createInterface(process.stdin)) {
      const [answer] = await inbox.put([entry(id)]);
      write({ is: "known", id, known: answer === "already_stored" });
    }
    return inbox.close();
  }
  for (let n = 0; ; n += 1) {
    const count = 1 + Math.floor(Math.random() * 4);
    const ids = Array.from({ length: count }, (_, each) => `${Date.now()}.${name}.${n}.${each}`);
    const put = inbox.put(ids.map(entry)).then(() => write({ is: "stored", ids }));
    await Promise.all([put, isQueue ? work(queue) : undefined, pause(5)]); // some thousand events in all
  }
}

async function take(queue: InboxQueue, limit: number): Promise<readonly TakenEvent[]> {
  const since = now();
  const options = { leaseMs, only: [type] };
  const due = await queue.take({ ...options, limit });
  const taken = [...due, ...(await queue.take({ ...options, limit: 1, suspects: true }))];
  for (const { id, token } of taken) write({ is: "leased", since, id, token, leaseMs });
  return taken;
}

async function work(queue: InboxQueue): Promise<void> {
  const taken = await take(queue, 5);
  await Promise.all(
    taken.map(async (one) => {
      if (chance(0.1)) return; // its lease ends
      if (chance(0.1)) void endLate(queue, one);
      else await end(queue, one, chance(0.15) ? "retry" : "done");
    }),
  );
}

async function endLate(queue: InboxQueue, one: TakenEvent): Promise<void> {
  await pause(1.3 * leaseMs);
  await end(queue, one, "done");
}

async function end(
  queue: InboxQueue,
  { source, id, token }: TakenEvent,
  state: "done" | "retry",
): Promise<void> {
  const done = state === "done";
  write({ is: "ending", id, token, done });
  const since = now();
  const lease = { source, id, token };
  const [held = false] = await queue.settle([
    done ? { ...lease, state } : { ...lease, state: "retry", afterMs: 0, error: "again" },
  ]);
  write({ is: "ended", since, id, token, done, held });
}

/** Claims ids that all processes share; there is a new one every 50 ms. */
async function runStore(store: DedupeStore): Promise<void> {
  if (mode === "drain") {
    for await (const id of createInterface(process.stdin)) {
      const { status } = await store.claim({ source: run, id }, leaseMs);
      write({ is: "known", id, known: status === "done" });
    }
    return store.close();
  }
  for (;;) {
    const newest = Math.floor(Date.now() / 50);
    const ids = Array.from({ length: 4 }, () => String(newest - Math.floor(Math.random() * 40)));
    await Promise.all(ids.map((id) => claim(store, id)));
  }
}

async function claim(store: DedupeStore, id: string): Promise<void> {
  const key = { source: run, id };
  const since = now();
  const claimed = await store.claim(key, leaseMs);
  if (claimed.status !== "claimed") {
    await pause(5);
    return;
  }
  const { token } = claimed;
  write({ is: "leased", since, id, token, leaseMs });
  if (chance(0.1)) return; // its lease ends
  if (chance(0.1))
    void pause(1.3 * leaseMs).then(() => finish("complete")); // too late
  else await finish(chance(0.3) ? "release" : "complete");

  async function finish(end: "complete" | "release"): Promise<void> {
    const done = end === "complete";
    write({ is: "ending", id, token, done });
    const since = now();
    const held = await store[end](key, token);
    write({ is: "ended", since, id, token, done, held });
    if (done && held) write({ is: "stored", ids: [id] });
  }
}

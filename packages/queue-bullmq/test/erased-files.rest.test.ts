import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { eraseSubject, type InboxEntry } from "@esim-webhooks/core";
import { bullmqProcessor } from "@esim-webhooks/queue-bullmq";
import { expect, it } from "vitest";
import { testErasure } from "../../../test/erasure.ts";
import { entry } from "../../../test/inbox-entry.ts";
import { redisOfFile } from "../../../test/servers/redis-of-file.ts";
import { openersOn } from "./set-up.ts";

// without compression, which would hide texts from a search
const redis = redisOfFile("--rdbcompression", "no", "--dbfilename", "snapshot.rdb");
const { openInbox, openWorker } = openersOn(() => redis.server.url);

/** Personal data that is in events. */
const subject = "esim_of_erika_mustermann";
const secret = "Erika Mustermann";
const other = "esim_that_stays";

/** A text, and what it looks like within base64, at each of the three places where it may begin. */
function formsOf(text: string): string[] {
  const inBase64 = ["", " ", "  "].map((start) => {
    const whole = Buffer.from(start + text).toString("base64");
    return whole.slice(Math.ceil((start.length * 8) / 6), Math.floor(((start + text).length * 8) / 6));
  });
  return [text, ...inBase64];
}

/** The files of the server: parts of its append-only file, and the snapshot. */
async function filesOf(): Promise<Map<string, Buffer>> {
  const [, folder = ""] = (await redis.admin.config("GET", "dir")) as string[];
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const files = names.filter((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.isFile());
  return new Map(files.map((name) => [name, readFileSync(join(folder, name))]));
}

/** The files that contain a text. */
async function filesWith(text: string): Promise<string[]> {
  const files = [...(await filesOf())];
  return files.filter(([, file]) => formsOf(text).some((form) => file.includes(form))).map(([name]) => name);
}

/** Rewrites the append-only file, and waits until its earlier parts are deleted. */
async function rewriteAppendOnlyFile(): Promise<void> {
  const partsOf = async () => [...(await filesOf()).keys()].filter((name) => /\.(?:base|incr)\./.test(name));
  const earlier = new Set(await partsOf());
  await redis.admin.bgrewriteaof();
  await expect.poll(async () => (await partsOf()).filter((name) => earlier.has(name))).toEqual([]);
}

it("after any history, no file and no line of log has anything of an erased eSIM", async () => {
  let runs = 0;
  await testErasure(async (logger) => {
    runs += 1;
    await redis.admin.flushall();
    const jobOptions = { attempts: 1 + (runs % 2), backoff: { type: "fixed", delay: 3_600_000 } };
    const inbox = openInbox({ jobOptions, logger });
    const taker = openWorker(null);
    return {
      inbox,
      async work(handlers, logger) {
        const stop = new AbortController();
        const ended = inbox.createWorker(handlers, { logger }).run({ signal: stop.signal });
        await expect.poll(async () => (await inbox.gauges()).counts.ready).toBe(0);
        stop.abort();
        await ended;
      },
      lease: async () => void (await taker.getNextJob("token", { block: false })),
      async kept() {
        await redis.admin.save();
        await rewriteAppendOnlyFile();
        const files = await filesOf();
        await taker.close();
        await inbox.close();
        return files;
      },
    };
  }, 15);
});

function about(esimReference: string, id: string): InboxEntry {
  const data = { esimReference, holder: esimReference === subject ? secret : "stays" };
  return { ...entry(id, { data }), trace: `trace of ${esimReference}` };
}

it("no file of Redis has the data of an erased eSIM once its append-only file and its snapshot were rewritten", async () => {
  const inbox = openInbox({ jobOptions: { attempts: 1 } });
  await inbox.put(["done", "dead"].map((id) => about(subject, id)));
  const worker = openWorker(
    bullmqProcessor({
      "*": ({ id }) => {
        if (id === "dead") throw new Error(`no such customer: ${secret}`);
      },
    }),
  );
  await expect.poll(() => inbox.stats()).toMatchObject({ states: { done: 1, dead: 1 } });
  await worker.close();
  await inbox.put([about(subject, "leased")]);
  await openWorker(null).getNextJob("token");
  await inbox.put([about(subject, "ready"), about(other, "other")]);
  await openInbox({ jobOptions: { delay: 3_600_000 } }).put([about(subject, "delayed")]);
  await redis.admin.save();
  for (const text of [subject, secret])
    expect(await filesWith(text)).toEqual(
      expect.arrayContaining([expect.stringMatching(/aof/), "snapshot.rdb"]),
    );

  const { events } = await eraseSubject(inbox, subject);
  expect(events).toMatchObject({ ready: 2, leased: 1, done: 1, dead: 1 });
  await redis.admin.save();
  for (const text of [subject, secret]) expect(await filesWith(text)).toEqual([expect.stringMatching(/aof/)]); // as docs/personal-data.md says
  await redis.admin.bgrewriteaof();
  for (const text of [subject, secret]) await expect.poll(() => filesWith(text)).toEqual([]);
  expect(await filesWith(other)).toEqual(
    expect.arrayContaining([expect.stringMatching(/aof/), "snapshot.rdb"]),
  );
});

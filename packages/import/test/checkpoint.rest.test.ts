import { execFileSync } from "node:child_process";
import {
  createReadStream,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { finished } from "node:stream/promises";
import { gzipSync } from "node:zlib";
import { type InboxEntry, memoryStore, WebhookError } from "@esim-webhooks/core";
import { type ImportOptions, importDeliveries } from "@esim-webhooks/import";
import { describe, expect, it } from "vitest";
import { createInOrder } from "../src/replay/batches.ts";
import { all, bytes, delivery, folder, ndjson, sumOf, watchedInbox } from "./dump.ts";

const trusted = { trustUnsigned: true };
/** Three puts: an inbox is given 2,000 events at a time. */
const [read, stored, invalid] = [5000, 4500, 500];
const records = Array.from({ length: read }, (_, n) =>
  n % 10 === 7 ? `bad line ${n}` : delivery(`msg_${n}`),
);
const wholeDump = Buffer.concat(await all(ndjson(...records)));
const dump = () => bytes(wholeDump);
const away = new WebhookError("store_unavailable", "Away.", "Start it.");
const linesOf = (path: string) =>
  readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));

/** An inbox that cannot be reached once it has had so many events, in as many puts as come. */
function awayAfter(most: number, inbox = watchedInbox()) {
  let events = 0;
  return {
    async put(entries: readonly InboxEntry[]) {
      events += entries.length;
      if (events > most) throw away;
      return inbox.put(entries);
    },
  };
}

describe("an import with a checkpoint file", () => {
  it("continues where the inbox became unreachable, with one ledger, one rejects file and one name", async () => {
    const at = folder();
    const options = { ...trusted, checkpointFile: join(at, "checkpoint"), rejectsFile: join(at, "rejects") };
    const inbox = watchedInbox();
    await expect(importDeliveries(dump(), awayAfter(4000, inbox), options)).rejects.toMatchObject({
      code: "store_unavailable",
    });
    expect(statSync(options.checkpointFile).mode & 0o777).toBe(0o600);
    const { run, tally } = JSON.parse(readFileSync(options.checkpointFile, "utf8"));
    expect(tally.ledger.stored).toBe(4000);
    writeFileSync(options.rejectsFile, "written after the checkpoint", { flag: "a" });

    const before = inbox.puts.length;
    const report = await importDeliveries(dump(), inbox, options);
    expect(inbox.puts.length - before).toBe(stored - 4000); // settled records are not put again
    expect(report).toMatchObject({ run, interrupted: false, resumedAfter: tally.ledger.read });
    expect(report.ledger).toMatchObject({ read, stored, invalid });
    expect(report.types).toMatchObject({ "esim.enabled": { stored }, "(none)": { invalid } });
    const rejected = linesOf(options.rejectsFile).map(({ position }) => position.record);
    expect(rejected).toEqual(records.flatMap((one, n) => (typeof one === "string" ? [n + 1] : [])));
    expect(existsSync(options.checkpointFile)).toBe(false);
  });

  it("stops when its signal aborts: running events finish, and the next run continues there", async () => {
    const checkpointFile = join(folder(), "checkpoint");
    const inbox = watchedInbox();
    const stopping = new AbortController();
    let puts = 0;
    const put = async (entries: readonly InboxEntry[]) => {
      if (++puts === 2) stopping.abort();
      await new Promise(setImmediate);
      return inbox.put(entries);
    };
    const options = { ...trusted, checkpointFile };
    const first = await importDeliveries(dump(), { put }, { ...options, signal: stopping.signal });
    expect(first).toMatchObject({ interrupted: true, damage: null });
    expect(first.ledger.stored).toBe(inbox.entries.size);
    expect(first.ledger.stored).toBeLessThan(stored);
    expect(sumOf({ ...first.ledger })).toBe(first.ledger.read);
    const second = await importDeliveries(dump(), inbox, options);
    expect(second).toMatchObject({ run: first.run, interrupted: false, resumedAfter: first.ledger.read });
    expect(second.ledger).toMatchObject({ read, stored, invalid, duplicate: 0 });
  });

  it("stops while it waits for its input, and before it begins", async () => {
    const stopping = new AbortController();
    let isClosed = false;
    async function* stalled() {
      try {
        yield* dump();
        stopping.abort();
        yield* bytes('{"half a ');
        await new Promise(() => {});
      } finally {
        isClosed = true;
      }
    }
    const inbox = watchedInbox();
    const report = await importDeliveries(stalled(), inbox, { ...trusted, signal: stopping.signal });
    expect(report.interrupted).toBe(true);
    expect(report.ledger.stored).toBe(inbox.entries.size);
    expect(isClosed).toBe(true);
    const before = await importDeliveries(dump(), inbox, { ...trusted, signal: AbortSignal.abort() });
    expect(before).toMatchObject({ interrupted: true, ledger: { read: 0 } });
  });

  it("does not count half a record as a bad one when its input failed", async () => {
    const checkpointFile = join(folder(), "checkpoint");
    async function* failing() {
      yield* bytes(wholeDump.subarray(0, 1_500_005));
      throw new Error("EIO");
    }
    const inbox = watchedInbox();
    const options = { ...trusted, checkpointFile };
    await expect(importDeliveries(failing(), inbox, options)).rejects.toThrow("EIO");
    const report = await importDeliveries(bytes(wholeDump), inbox, options);
    expect(report.resumedAfter).toBeGreaterThan(0);
    expect(report.ledger).toMatchObject({ read, invalid, stored });
  });

  it.each<[string, ImportOptions, () => AsyncIterable<Uint8Array>]>([
    ["another dump", {}, () => ndjson(...records.slice(1))],
    ["another filter", { types: ["esim.enabled"] }, dump],
    ["another source", { source: "shop" }, dump],
    ["rounded ids accepted", { acceptRoundedIds: true }, dump],
    ["another order", { oldestFirst: true }, dump],
  ])("refuses to continue with %s, and says how to mend it", async (_, other, input) => {
    const checkpointFile = join(folder(), "checkpoint");
    const options = { ...trusted, checkpointFile };
    await importDeliveries(dump(), awayAfter(4000), options).catch(() => {});
    const importing = importDeliveries(input(), watchedInbox(), { ...options, ...other });
    await expect(importing).rejects.toMatchObject({ code: "checkpoint_mismatch" });
    await expect(importing).rejects.toThrow(/remove it/);
    expect(existsSync(checkpointFile)).toBe(true);
  });

  it("refuses to continue with a longer dump whose new records are sorted to the front", async () => {
    const options = { ...trusted, checkpointFile: join(folder(), "checkpoint"), oldestFirst: true };
    const newestFirst = Array.from({ length: 7000 }, (_, n) =>
      delivery(`msg_${n}`, { timestamp: new Date(1.79e12 - n * 1000).toISOString() }),
    );
    const inbox = watchedInbox();
    const cut = ndjson(...newestFirst.slice(0, 6000));
    await importDeliveries(cut, awayAfter(4000, inbox), options).catch(() => {});
    expect(inbox.entries.size).toBe(4000);
    const goingOn = importDeliveries(ndjson(...newestFirst), inbox, options);
    await expect(goingOn).rejects.toMatchObject({ code: "checkpoint_mismatch" });
    expect(existsSync(options.checkpointFile)).toBe(true);
    rmSync(options.checkpointFile);
    await importDeliveries(ndjson(...newestFirst), inbox, options);
    expect(inbox.entries.size).toBe(7000);
  });

  it("refuses to continue with a shorter dump that begins the same", async () => {
    const options = { ...trusted, checkpointFile: join(folder(), "checkpoint") };
    await importDeliveries(dump(), awayAfter(4000), options).catch(() => {});
    const goingOn = importDeliveries(ndjson(...records.slice(0, 4500)), watchedInbox(), options);
    await expect(goingOn).rejects.toMatchObject({ code: "checkpoint_mismatch" });
    const report = await importDeliveries(dump(), watchedInbox(), options);
    expect(report.ledger).toMatchObject({ read, stored });
  });

  it.each([
    ["as it is", (dump: Buffer) => dump],
    ["packed", (dump: Buffer) => gzipSync(dump, { level: 0 })],
  ])("refuses to continue with a dump of the same length that was repaired, %s", async (_, pack) => {
    const options = { ...trusted, checkpointFile: join(folder(), "checkpoint") };
    const [bad, good] = ["bad line 2007", '{"bad": 2007}'];
    expect(good).toHaveLength(bad.length);
    const repaired = Buffer.from(wholeDump.toString().replace(bad, good)); // beyond the first 64 KiB
    await importDeliveries(bytes(pack(wholeDump), 65_536), awayAfter(4000), options).catch(() => {});
    const goingOn = importDeliveries(bytes(pack(repaired), 50_000), watchedInbox(), options);
    await expect(goingOn).rejects.toMatchObject({ code: "checkpoint_mismatch" });
    await expect(goingOn).rejects.toThrow(/another dump/);
    const report = await importDeliveries(bytes(pack(wholeDump), 7_000), watchedInbox(), options);
    expect(report.resumedAfter).toBeGreaterThan(2007);
    expect(report.ledger).toMatchObject({ read, stored, invalid });
  });

  it("goes to the later of two imports at the same time, and the earlier one stops", async () => {
    const at = folder();
    const options = { ...trusted, checkpointFile: join(at, "checkpoint"), rejectsFile: join(at, "rejects") };
    const inbox = watchedInbox();
    await importDeliveries(dump(), awayAfter(4000, inbox), options).catch(() => {});
    const waiting = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const put = async (entries: readonly InboxEntry[]) => {
      begun.resolve();
      await waiting.promise;
      return inbox.put(entries);
    };
    const earlier = importDeliveries(dump(), { put }, options);
    await begun.promise;
    const later = await importDeliveries(dump(), inbox, options);
    waiting.resolve();
    await expect(earlier).rejects.toMatchObject({
      code: "checkpoint_in_use",
      message: expect.stringMatching(
        /was removed while .*: by another import that has ended, or manually\. If no other/,
      ),
    });
    expect(later.resumedAfter).toBeGreaterThan(0);
    expect(later.ledger).toMatchObject({ read, stored, invalid });
    const rejected = linesOf(options.rejectsFile).map(({ position }) => position.record);
    expect(rejected).toEqual(records.flatMap((one, n) => (typeof one === "string" ? [n + 1] : [])));
    expect(readdirSync(at)).toEqual(["rejects"]);
  });

  it("is refused to the later of two imports that both began without one", async () => {
    const options = { ...trusted, checkpointFile: join(folder(), "checkpoint") };
    const inbox = watchedInbox();
    const blank = "\n".repeat(70_000); // read before the checkpoint file is looked for
    async function* late(begun?: () => Promise<unknown>) {
      yield* bytes(blank, 70_000);
      await begun?.();
      yield* dump();
    }
    const earlier = () => importDeliveries(late(), awayAfter(4000, inbox), options).catch(() => {});
    const refused = importDeliveries(late(earlier), inbox, options);
    await expect(refused).rejects.toMatchObject({
      code: "checkpoint_in_use",
      message: expect.stringMatching(/^Another import has taken over the checkpoint file/),
    });
    const report = await importDeliveries(late(), inbox, options);
    expect(report.resumedAfter).toBeGreaterThan(0);
    expect(report.ledger.stored).toBe(stored);
  });

  it("continues after an event that occurred in the year 10000 of UTC", async () => {
    const options = { ...trusted, checkpointFile: join(folder(), "checkpoint") };
    const timestamp = "9999-12-31T23:59:59.000-01:00";
    const late = () => ndjson(delivery("late", { timestamp }), ...records);
    await importDeliveries(late(), awayAfter(4000), options).catch(() => {});
    const report = await importDeliveries(late(), watchedInbox(), options);
    expect(report.resumedAfter).toBeGreaterThan(0);
    expect(report.span?.to).toBe("+010000-01-01T00:59:59.000Z");
  });

  it("refuses to overwrite the dump, or one of its files with the other", async () => {
    const at = folder();
    const path = join(at, "dump");
    const text = `${JSON.stringify(delivery("a"))}\n`;
    writeFileSync(path, text);
    symlinkSync(path, join(at, "link"));
    for (const other of [
      { rejectsFile: path },
      { checkpointFile: path },
      { rejectsFile: join(at, "link") },
      { rejectsFile: join(at, "new"), checkpointFile: join(at, ".", "new") },
    ]) {
      for (const input of [createReadStream(path), createReadStream("", { fd: openSync(path, "r") })]) {
        const importing = importDeliveries(input, watchedInbox(), { ...trusted, ...other });
        await expect(importing).rejects.toMatchObject({ code: "invalid_option" });
        input.destroy();
        await finished(input).catch(() => {});
      }
    }
    expect(readFileSync(path, "utf8")).toBe(text);
  });

  it("refuses a file that is not a checkpoint, and one whose rejects file is gone", async () => {
    const at = folder();
    const checkpointFile = join(at, "checkpoint");
    for (const text of ["", "{", "{}", '{"version":2}']) {
      writeFileSync(checkpointFile, text);
      const importing = importDeliveries(dump(), watchedInbox(), { ...trusted, checkpointFile });
      await expect(importing).rejects.toMatchObject({ code: "checkpoint_mismatch" });
    }
    const options = { ...trusted, checkpointFile: join(at, "other"), rejectsFile: join(at, "rejects") };
    await importDeliveries(dump(), awayAfter(4000), options).catch(() => {});
    for (const rejectsFile of [
      join(at, "elsewhere"),
      options.checkpointFile.replace("other", "checkpoint"),
    ]) {
      const importing = importDeliveries(dump(), watchedInbox(), { ...options, rejectsFile });
      await expect(importing).rejects.toMatchObject({ code: "checkpoint_mismatch" });
    }
  });

  it("writes none and reads none in a dry run", async () => {
    const checkpointFile = join(folder(), "checkpoint");
    const options = { ...trusted, checkpointFile };
    await importDeliveries(dump(), watchedInbox(), { ...options, dryRun: true });
    expect(existsSync(checkpointFile)).toBe(false);
    await importDeliveries(dump(), awayAfter(4000), options).catch(() => {});
    const report = await importDeliveries(dump(), watchedInbox(), { ...options, dryRun: true });
    expect(report).toMatchObject({ resumedAfter: 0, ledger: { read, stored } });
    expect(existsSync(checkpointFile)).toBe(true);
  });

  it.skipIf(process.platform === "win32")("writes its rejects into a pipe", async () => {
    const rejectsFile = join(folder(), "pipe");
    execFileSync("mkfifo", [rejectsFile]);
    const read = text(createReadStream(rejectsFile));
    await importDeliveries(ndjson(delivery("msg_0"), "bad", "worse"), watchedInbox(), {
      ...trusted,
      rejectsFile,
    });
    expect(
      (await read)
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line).text),
    ).toEqual(["bad", "worse"]);
  });

  it("stops when its rejects cannot be written, and does not count those records", async () => {
    const full = () => importDeliveries(dump(), watchedInbox(), { ...trusted, rejectsFile: "/dev/full" });
    if (existsSync("/dev/full")) await expect(full()).rejects.toMatchObject({ code: "ENOSPC" });
    const settled: number[] = [];
    const inOrder = createInOrder(
      2,
      async (work: number) => work,
      async (work) => {
        if (work === 3) throw new Error("full");
        settled.push(work);
      },
    );
    const all = (async () => {
      for (let work = 1; work < 9; work++) await inOrder.begin(work);
    })();
    await expect(all).rejects.toThrow("full");
    await expect(inOrder.end()).rejects.toThrow("full");
    expect(settled).toEqual([1, 2]);
  });

  it("keeps the rejects of the previous import when it fails early, and replaces them when it completes", async () => {
    const rejectsFile = join(folder(), "rejects");
    const options = { ...trusted, rejectsFile };
    await importDeliveries(dump(), watchedInbox(), options);
    const rejects = readFileSync(rejectsFile, "utf8");
    await expect(importDeliveries(dump(), watchedInbox(), { rejectsFile })).rejects.toMatchObject({
      code: "unsigned_dump",
    });
    await expect(importDeliveries(dump(), awayAfter(0), options)).rejects.toThrow(/Run it again/);
    expect(readFileSync(rejectsFile, "utf8")).toBe(rejects);
    await importDeliveries(ndjson(delivery("msg_0"), "bad"), watchedInbox(), options);
    expect(linesOf(rejectsFile)).toHaveLength(1);
    await importDeliveries(ndjson(delivery("msg_0")), watchedInbox(), options);
    expect(readFileSync(rejectsFile, "utf8")).toBe("");
  });

  it("deletes the rejects of another import when it continues before its own first reject", async () => {
    const at = folder();
    const options = { ...trusted, checkpointFile: join(at, "checkpoint"), rejectsFile: join(at, "rejects") };
    const good = Array.from({ length: 5000 }, (_, n) => delivery(`msg_${n}`));
    const late = () => ndjson(...good, "bad");
    writeFileSync(options.rejectsFile, `${"of another import\n".repeat(100)}`);
    await expect(importDeliveries(late(), awayAfter(2000), options)).rejects.toThrow(/Run it again/);
    expect(await importDeliveries(late(), watchedInbox(), options)).toMatchObject({ resumedAfter: 2000 });
    expect(linesOf(options.rejectsFile)).toMatchObject([{ position: { record: 5001 } }]);
  });

  it("continues after unsigned_dump with trustUnsigned", async () => {
    const checkpointFile = join(folder(), "checkpoint");
    const inbox = watchedInbox();
    const importing = importDeliveries(dump(), inbox, { checkpointFile });
    await expect(importing).rejects.toMatchObject({ code: "unsigned_dump" });
    const report = await importDeliveries(dump(), inbox, { ...trusted, checkpointFile });
    expect(report.ledger).toMatchObject({ stored });
  });

  it("continues in the same place when it is sorted", async () => {
    const checkpointFile = join(folder(), "checkpoint");
    const inbox = watchedInbox();
    const options = { ...trusted, checkpointFile, oldestFirst: true };
    const newestFirst = () =>
      ndjson(
        ...Array.from({ length: 6000 }, (_, n) =>
          delivery(`msg_${n}`, { timestamp: new Date(1.79e12 - n * 1000).toISOString() }),
        ),
      );
    await importDeliveries(newestFirst(), awayAfter(4000, inbox), options).catch(() => {});
    expect([...inbox.entries.keys()]).toEqual(Array.from({ length: 4000 }, (_, n) => `msg_${5999 - n}`));
    const report = await importDeliveries(newestFirst(), inbox, options);
    expect(report).toMatchObject({ resumedAfter: 4000, ledger: { stored: 6000, duplicate: 0 } });
    expect([...inbox.entries.keys()]).toEqual(Array.from({ length: 6000 }, (_, n) => `msg_${5999 - n}`));
  });

  it("forces each event once, also one that the previous run had handled after its last checkpoint", async () => {
    const checkpointFile = join(folder(), "checkpoint");
    const store = memoryStore();
    const runs = new Map<string, number>();
    const stopping = new AbortController();
    const handlers = {
      "*": ({ id }: { id: string }) => {
        runs.set(id, (runs.get(id) ?? 0) + 1);
        if (runs.get("msg_40") === 2) stopping.abort();
      },
    };
    const few = () => ndjson(...Array.from({ length: 80 }, (_, n) => delivery(`msg_${n}`)));
    const fresh = Array.from({ length: 20 }, (_, n) => `msg_${n}`);
    const old = Array.from({ length: 60 }, (_, n) => `msg_${n + 20}`);
    await importDeliveries(few(), handlers, { ...trusted, store, ids: old });
    const options = { ...trusted, store, checkpointFile, force: true };
    const first = await importDeliveries(few(), handlers, { ...options, signal: stopping.signal });
    expect(first).toMatchObject({ interrupted: true, forced: 21, ledger: { stored: 41 } });
    // as if the process had been killed before it could write the last checkpoint
    const checkpoint = JSON.parse(readFileSync(checkpointFile, "utf8"));
    const ledger = { ...first.ledger, read: 0, stored: 0 };
    writeFileSync(
      checkpointFile,
      JSON.stringify({ ...checkpoint, tally: { ledger, forced: 0, types: {}, span: null } }),
    );
    const second = await importDeliveries(few(), handlers, options);
    expect(second).toMatchObject({
      run: first.run,
      forced: 39,
      ledger: { read: 80, stored: 39, duplicate: 41 },
    });
    expect([...runs].filter(([, times]) => times === 1).map(([id]) => id)).toEqual(fresh);
    expect([...runs].filter(([, times]) => times === 2).map(([id]) => id)).toEqual(old);
  });

  it("forces each event once, also when a damaged dump is imported again", async () => {
    const checkpointFile = join(folder(), "checkpoint");
    const store = memoryStore();
    const runs = new Map<string, number>();
    const handlers = { "*": ({ id }: { id: string }) => void runs.set(id, (runs.get(id) ?? 0) + 1) };
    const whole = JSON.stringify(Array.from({ length: 200 }, (_, n) => delivery(`msg_${n}`)));
    await importDeliveries(bytes(whole), handlers, { ...trusted, store });
    const options = { ...trusted, store, checkpointFile, force: true };
    const first = await importDeliveries(bytes(whole.slice(0, -5000)), handlers, options);
    expect(first).toMatchObject({ damage: { code: "damaged_dump" } });
    expect(first.forced).toBeGreaterThan(180);
    const second = await importDeliveries(bytes(whole), handlers, options);
    expect(second).toMatchObject({
      run: first.run,
      resumedAfter: 0,
      forced: 200 - first.forced,
      ledger: { read: 200, duplicate: first.forced },
    });
    expect(new Set(runs.values())).toEqual(new Set([2]));
    expect(existsSync(checkpointFile)).toBe(false);
  });
});

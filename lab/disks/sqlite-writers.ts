import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import {
  type SqliteInbox,
  sqliteBackup,
  sqliteCheck,
  sqliteInbox,
  sqliteStore,
} from "@esim-webhooks/store-sqlite";
import { entry, key } from "../../test/inbox-entry.ts";
import { expectAll, filesWriter, type Writer } from "./writer.ts";

const leaseMs = 60_000;
const timeoutMs = 60_000; // the machine may be busy
const optionsOf = (folder: string) => ({ path: join(folder, "data", "events.db"), timeoutMs });

async function usingInbox(path: string, use: (inbox: SqliteInbox) => Promise<void>): Promise<void> {
  const inbox = sqliteInbox({ path, timeoutMs });
  try {
    await use(inbox);
  } finally {
    await inbox.close();
  }
}

/** Puts new events at the same time. Resolves once every put has ended; rejects if one has failed. */
async function put(inbox: SqliteInbox, events: number, acknowledge: (id: string) => void): Promise<void> {
  const ids = Array.from({ length: events }, () => randomUUID());
  const puts = ids.map(async (id) => {
    await inbox.put([entry(id)]);
    acknowledge(id);
  });
  for (const one of await Promise.allSettled(puts)) if (one.status === "rejected") throw one.reason;
}

/** Events that are put, taken and settled. The file is opened twice, so that a checkpoint ends the first time. */
const inbox: Writer = {
  ...filesWriter,
  name: "inbox",
  async write(folder, acknowledge) {
    for (let times = 0; times < 2; times++)
      await usingInbox(optionsOf(folder).path, async (inbox) => {
        await put(inbox, 3, (id) => acknowledge(`stored ${id}`));
        for (const { source, id, token } of await inbox.take({ limit: 2, leaseMs })) {
          const [isSettled] = await inbox.settle([{ source, id, token, state: "done" }]);
          if (isSettled) acknowledge(`done ${id}`);
        }
      });
  },
  async check(folder, acknowledged) {
    await usingInbox(optionsOf(folder).path, async (inbox) => {
      const states = new Map<string, string>();
      for (const { id, state } of (await inbox.list({}, { limit: 1000 })).rows) states.set(id, state);
      expectAll(acknowledged, (what) => {
        const [promise, id = ""] = what.split(" ");
        return promise === "done" ? states.get(id) === "done" : states.has(id);
      });
    });
    await sqliteCheck(optionsOf(folder));
  },
};

/** Ids that are claimed and completed. */
const store: Writer = {
  ...filesWriter,
  name: "dedupe store",
  async write(folder, acknowledge) {
    const store = sqliteStore(optionsOf(folder));
    try {
      for (let n = 0; n < 3; n++) {
        const id = randomUUID();
        const claim = await store.claim(key(id), leaseMs);
        if (claim.status === "claimed" && (await store.complete(key(id), claim.token))) acknowledge(id);
      }
    } finally {
      await store.close();
    }
  },
  async check(folder, acknowledged) {
    const store = sqliteStore(optionsOf(folder));
    try {
      await store.ready(); // before the first acknowledgement, the cut may have left no file
      const done = new Set<string>();
      for (const id of acknowledged)
        if ((await store.claim(key(id), leaseMs)).status === "done") done.add(id);
      expectAll(acknowledged, (id) => done.has(id));
    } finally {
      await store.close();
    }
    await sqliteCheck(optionsOf(folder));
  },
};

/** Backups of an inbox. A backup that was not acknowledged must be whole, too, or must not exist. */
const backup: Writer = {
  ...filesWriter,
  name: "backup",
  async write(folder, acknowledge) {
    for (let times = 0; times < 2; times++) {
      await usingInbox(optionsOf(folder).path, (inbox) => put(inbox, 1, (id) => acknowledge(`stored ${id}`)));
      const name = `${randomUUID()}.backup`;
      await sqliteBackup(optionsOf(folder), join(folder, name));
      acknowledge(`backup ${name}`);
    }
  },
  async check(folder, acknowledged) {
    await inbox.check(
      folder,
      acknowledged.filter((what) => what.startsWith("stored")),
    );
    const backups = new Set(readdirSync(folder).filter((name) => name.endsWith(".backup")));
    expectAll(acknowledged, (what) => what.startsWith("stored") || backups.has(what.slice("backup ".length)));
    for (const name of backups) {
      await sqliteCheck({ path: join(folder, name) });
      const before = acknowledged.indexOf(`backup ${name}`);
      const stored = acknowledged.slice(0, Math.max(0, before)).filter((what) => what.startsWith("stored"));
      await usingInbox(join(folder, name), async (copy) => {
        const ids = new Set((await copy.list({}, { limit: 1000 })).rows.map(({ id }) => id));
        expectAll(stored, (what) => ids.has(what.slice("stored ".length)));
      });
    }
  },
};

/** The stores that are SQLite files, and their backups. */
export const sqliteWriters: readonly Writer[] = [inbox, store, backup];

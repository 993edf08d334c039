import { randomUUID } from "node:crypto";
import { type Kysely, sql } from "kysely";
import { schemaMismatch } from "../database/errors.ts";
import type { Tables } from "../database/tables.ts";
import { claim, completeInTransaction, release } from "./claim.ts";
import { keepClock } from "./forget.ts";
import { addMinute } from "./minutes.ts";
import { insert } from "./put.ts";
import { putRow } from "./put-rows.ts";
import { noteRun } from "./runs.ts";
import { renew, settle } from "./settle.ts";
import { writeState } from "./state.ts";
import { take } from "./take.ts";

/** Does with events of its own what stores, inboxes and workers do. Only for a transaction that is rolled back. */
export async function tryEvents(db: Kysely<unknown>, tables: Tables): Promise<void> {
  const key = { source: "", id: randomUUID() };
  const claimed = await claim(db, tables, key, 1000, undefined);
  const token = claimed.status === "claimed" ? claimed.token : "";
  await completeInTransaction(db, tables, key, token, 1000);
  await release(db, tables, key, token);
  await sql`delete from ${tables.pause}`.execute(db); // a pause of all types would leave nothing to take
  await tryWork(db, tables);
  await tryNotes(db, tables);
  await keepClock(db, tables, { seenMs: 0, heldUntilMs: 0 }, undefined); // last, since purges of others wait for it
}

/**
 * Stores two events, one of them in a lane, then takes and settles one. They are due before all others: a take that wants only their type
 * would otherwise read the other due events first.
 */
async function tryWork(db: Kysely<unknown>, tables: Tables): Promise<void> {
  const type = randomUUID();
  const rows = [null, type].map((lane) => {
    const key = { source: "", id: randomUUID() };
    return putRow({ ...key, type, event: null, body: new Uint8Array(), receivedAt: new Date() }, lane, null);
  });
  await insert(tables, rows).execute(db);
  await sql`update ${tables.event} set due_at = '0001-01-01' where source = '' and id = any (${rows.map(({ entry }) => entry.id)})`.execute(
    db,
  );
  const { taken } = await take(db, tables, { limit: 1, leaseMs: 1000, only: [type] }, true, "");
  const leases = await renew(db, tables, taken, 1000);
  const settled = await settle(
    db,
    tables,
    taken.map(({ source, id, token }) => ({ source, id, token, state: "done" })),
    { retentionMs: 1000, keepBodies: false },
  );
  await take(db, tables, { limit: 0, leaseMs: 1000, suspects: true }, true, "");
  if (!leases.includes(true) || !settled.includes(true))
    throw schemaMismatch(tables, "an event that was stored in them could not be taken and settled");
}

/** Writes what inboxes note for operators. */
async function tryNotes(db: Kysely<unknown>, tables: Tables): Promise<void> {
  const now = new Date();
  const note = { run: "", source: "", startedAt: now, endedAt: now, outcome: "complete", ledger: {} };
  await noteRun(db, tables, { kind: "import", ...note });
  await addMinute(db, tables, { stored: 0, done: 0, retried: 0, dead: 0 });
}

/** Writes a state of its own. Only for a transaction that is rolled back. */
export async function tryState(db: Kysely<unknown>, tables: Tables): Promise<void> {
  await writeState(db, tables, { name: randomUUID(), value: "null", version: undefined });
}

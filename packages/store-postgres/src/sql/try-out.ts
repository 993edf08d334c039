import { randomUUID } from "node:crypto";
import type { Kysely } from "kysely";
import type { Tables } from "../database/tables.ts";
import { claim } from "./claim.ts";
import { completeInTransaction, release } from "./mark.ts";
import { renew, settle } from "./settle.ts";
import { take } from "./take.ts";
import { writeState } from "./write-state.ts";

/** Does with an event of its own what stores and inboxes do. For a transaction that is rolled back. */
export async function tryEvents(db: Kysely<unknown>, tables: Tables): Promise<void> {
  const key = { source: "", id: randomUUID() };
  const claimed = await claim(db, tables, key, 1000, undefined);
  const token = claimed.status === "claimed" ? claimed.token : "";
  await completeInTransaction(db, tables, key, token, 1000);
  await release(db, tables, key, token);
  for (const suspects of [false, true]) await take(db, tables, { limit: 0, leaseMs: 1000, suspects }, false);
  await settle(db, tables, [], { retentionMs: 1000, keepBodies: false });
  await renew(db, tables, [], 1000);
}

/** Writes a state of its own. For a transaction that is rolled back. */
export async function tryState(db: Kysely<unknown>, tables: Tables): Promise<void> {
  await writeState(db, tables, { name: randomUUID(), value: "null", version: undefined });
}

import type { RunNote } from "@esim-webhooks/core";
import { decodeRunNote, encodeRunNote, mostRunNotes } from "@esim-webhooks/core/engine";
import { type Kysely, sql } from "kysely";
import type { Tables } from "../database/tables.ts";

/** Notes an import or a pass, and forgets all but the last fifty of its kind. */
export async function noteRun(db: Kysely<unknown>, tables: Tables, note: RunNote): Promise<void> {
  await sql`insert into ${tables.run} (kind, note) values (${note.kind}, ${encodeRunNote(note)})`.execute(db);
  await sql`
    delete from ${tables.run} where number in (
      select number from ${tables.run} where kind = ${note.kind} and number <= (
        select number from ${tables.run} where kind = ${note.kind}
        order by number desc offset ${mostRunNotes} limit 1
      ) for update skip locked
    )`.execute(db);
}

/** Adds the notes of another inbox that are missing here, and keeps the last fifty of each kind, in the order in which the runs ended. */
export async function copyRuns(
  db: Kysely<unknown>,
  tables: Tables,
  copied: readonly RunNote[],
): Promise<void> {
  if (copied.length === 0) return;
  await sql`lock table ${tables.run} in share row exclusive mode`.execute(db);
  const texts = new Set([...copied, ...(await runs(db, tables))].map(encodeRunNote));
  const notes = [...texts].map(decodeRunNote).sort((a, b) => a.endedAt.getTime() - b.endedAt.getTime());
  const last = (kind: RunNote["kind"]) => notes.filter((note) => note.kind === kind).slice(-mostRunNotes);
  const stays = new Set([...last("import"), ...last("reconcile")]);
  const kept = notes.filter((note) => stays.has(note));
  await sql`delete from ${tables.run}`.execute(db);
  await sql`
    insert into ${tables.run} (kind, note)
    select kind, note from unnest(
      ${kept.map(({ kind }) => kind)}::text[], ${kept.map(encodeRunNote)}::text[]
    ) with ordinality as given (kind, note, place) order by place`.execute(db);
}

/** The notes, the last one first. */
export async function runs(db: Kysely<unknown>, tables: Tables): Promise<readonly RunNote[]> {
  const { rows } = await sql<{ note: string }>`select note from ${tables.run} order by number desc`.execute(
    db,
  );
  return rows.map(({ note }) => decodeRunNote(note));
}

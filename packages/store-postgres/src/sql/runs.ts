import type { RunNote } from "@esim-webhooks/core";
import { decodeRunNote, encodeRunNote, mostRunNotes } from "@esim-webhooks/core/engine";
import { type Kysely, sql } from "kysely";
import type { Tables } from "../database/tables.ts";

/** Notes an import or a pass, and forgets the earlier ones of its kind, but for the last. */
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

/** The last one first. */
export async function runs(db: Kysely<unknown>, tables: Tables): Promise<readonly RunNote[]> {
  const { rows } = await sql<{ note: string }>`select note from ${tables.run} order by number desc`.execute(
    db,
  );
  return rows.map(({ note }) => decodeRunNote(note));
}

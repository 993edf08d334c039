// Run as a process, it migrates the file that its argument names, as a later version does.
import { connect } from "../src/database/connection.ts";
import { type Migration, migrate, migrations } from "../src/database/migrations.ts";

/** The migrations of a later version, which adds a column and an index. */
export const later: readonly Migration[] = [
  ...migrations,
  { oldest: 1, statements: ["alter table esim_webhooks_event add column note text"] },
  { oldest: 1, indexes: ["esim_webhooks_event_note on esim_webhooks_event (note, body)"] },
];

if (process.argv[1] === import.meta.filename) {
  const path = String(process.argv[2]);
  const connection = connect(path, { busyMs: 60_000 });
  console.log("begins");
  migrate(connection, path, later);
  connection.close();
}

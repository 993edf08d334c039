// The peer of `serve` in the embedded bench: `embedded-bare.mjs <database file>`. Inserts each body, and verifies nothing.
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import SQLite from "better-sqlite3";

const database = new SQLite(process.argv[2]);
database.pragma("journal_mode = wal");
database.pragma("synchronous = full");
database.exec("create table if not exists hand_written (id text primary key, body blob)");
const insert = database.prepare("insert into hand_written values (?, ?)");
const server = createServer(async (request, response) => {
  insert.run(request.headers["webhook-id"], await buffer(request));
  response.writeHead(202).end();
});
server.listen(0, "127.0.0.1", () =>
  console.error(`Listening at http://127.0.0.1:${server.address().port}/webhooks`),
);

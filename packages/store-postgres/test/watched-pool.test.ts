import { EventEmitter } from "node:events";
import { silentLogger } from "@esim-webhooks/core/kit";
import { expect, it } from "vitest";
import { watchedPool } from "../src/database/watched-pool.ts";

it("logs the code and the message of a connection's error, and not the client that pg hangs on it", () => {
  const lines: unknown[] = [];
  const debug = (...line: unknown[]) => void lines.push(line);
  const pool = new EventEmitter();
  watchedPool(pool as never, 1000, { ...silentLogger, debug });
  const client = { connectionParameters: { host: "db.example" } };
  pool.emit("error", Object.assign(new Error("the server was shut down"), { code: "57P01", client }));
  expect(lines).toEqual([[{ code: "57P01", reason: "the server was shut down" }, "postgres connection"]]);
});

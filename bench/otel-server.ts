// A server of the otel bench, in its own process: `otel-server.ts <plain | instrumented | bare> [SQLite file]`.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { memoryStore, nodeHandler } from "@esim-webhooks/core";
import { instrument } from "@esim-webhooks/otel";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { barePeer, sdkOptions } from "./otel-sdk.ts";

const [mode, path = ""] = process.argv.slice(2);
const peer = mode === "bare" ? barePeer() : undefined;
if (mode === "instrumented") instrument(sdkOptions("sampled"));

const handler =
  path === ""
    ? nodeHandler({ "*": async () => peer?.() }, { store: memoryStore({ maxEntries: 1_000_000 }) })
    : nodeHandler(sqliteInbox({ path }));
const server = createServer(handler);
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));

// the parent closes standard input to end this process
process.stdin.resume().on("end", () => process.exit());

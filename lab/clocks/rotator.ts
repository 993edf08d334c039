// A process that rotates and reconciles for `rotation.ts`. Each line on standard input is a command, and is answered with a line of JSON.
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "@esim-webhooks/client";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { reconcile, rotateSecret } from "@esim-webhooks/endpoint";
import { sqliteInbox, sqliteState } from "@esim-webhooks/store-sqlite";

/** The input of the process. Plain JSON. */
export interface RotatorPlace {
  readonly api: { readonly baseUrl: string; readonly clientId: string; readonly clientSecret: string };
  readonly endpoint: string;
  readonly keyFile: string;
  /** The path of the SQLite file of the inbox and of the state. */
  readonly database: string;
}

const {
  api: credentials,
  endpoint,
  keyFile,
  database,
} = JSON.parse(process.env["ROTATOR"] ?? "{}") as RotatorPlace;
const api = createClient(credentials);
const inbox = sqliteInbox({ path: database, timeoutMs: 30_000 });
const state = sqliteState({ path: database, timeoutMs: 30_000 });

/** How much shorter a wait is than a real one. */
const waitsFaster = 20;
let skippedMs = 0;
const clock = {
  now: () => Date.now() + skippedMs,
  async wait(ms: number) {
    await pause(ms / waitsFaster);
    skippedMs += ms - ms / waitsFaster;
  },
};

async function run(line: string): Promise<unknown> {
  const [command, since] = line.split(" ");
  const pass = () =>
    reconcile(api, endpoint, inbox, { state, newSource: true, ...(since && { since: new Date(since) }) });
  if (command !== "rotate") return pass();
  return rotateSecret(api, endpoint, fileKeySource(keyFile), {
    clock,
    overlapMs: 60_000,
    state,
    reconcile: pass,
  });
}

process.stdin.on("end", () => process.exit()); // the laboratory has ended
console.log("ready");
for await (const line of createInterface(process.stdin)) {
  const code = await run(line).then(
    () => null,
    (error: { code?: unknown }) => error.code ?? String(error),
  );
  console.log(JSON.stringify({ code }));
}

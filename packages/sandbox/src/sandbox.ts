import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { WebhookError } from "@esim-webhooks/core";
import { makeFolder } from "@esim-webhooks/core/kit";
import { Hono } from "hono";
import { manualClock, runningClock } from "./base/clock.ts";
import { type Database, openDatabase } from "./base/database.ts";
import { seededRandom } from "./base/random.ts";
import { newClientReference } from "./base/references.ts";
import type { Service } from "./base/service.ts";
import type { SandboxErrorCode } from "./errors.ts";
import { listen } from "./listener.ts";
import { readOptions, type SandboxOptions } from "./options.ts";

/** What a partner gets from support, for the token endpoint. */
export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The service, running on this machine. */
export interface Sandbox extends AsyncDisposable {
  /** The base address of the API; ends in `/api/v3`. */
  readonly url: string;
  /** The address of the control side and, in a browser, of its page. */
  readonly controlUrl: string;
  /** Of the client that every sandbox has. */
  readonly credentials: Credentials;
  /** Stops it, and cuts what is open. The state in a folder is kept. */
  close(): Promise<void>;
}

/**
 * Starts the service on 127.0.0.1, with one client that may do everything.
 * Throws `invalid_option`, `cannot_listen` (a port is taken) or `unusable_data` (the folder cannot be used).
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const settings = readOptions(options);
  const db = await openData(settings.data);
  const clock = settings.clock === "manual" ? manualClock() : runningClock(settings.speed ?? 1);
  const service: Service = {
    db,
    clock,
    switches: settings.switches,
    random: seededRandom(settings.seed),
    onDue: () => {},
  };
  const credentials = defaultClient(service);
  const api = await listen(new Hono(), settings.port, "port");
  const control = await listen(new Hono(), settings.controlPort, "controlPort");
  async function close(): Promise<void> {
    await Promise.all([api.close(), control.close()]);
    db.close();
  }
  return {
    url: `${api.url}/api/v3`,
    controlUrl: control.url,
    credentials,
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function openData(folder: string | undefined): Promise<Database> {
  if (folder === undefined) return openDatabase();
  try {
    await makeFolder(folder);
    return openDatabase(join(folder, "sandbox.db"));
  } catch (cause) {
    throw new WebhookError<SandboxErrorCode>(
      "unusable_data",
      `startSandbox cannot keep its state in ${folder}.`,
      'Name another folder with "data", one that this user can write to.',
      { cause },
    );
  }
}

/** Stands in for `addClient` of the room account. */
function defaultClient({ db }: Service): Credentials {
  const known = db.get<{ clientReference: string; clientSecret: string }>(
    "select clientReference, clientSecret from clients order by rowid limit 1",
  );
  if (known) return { clientId: known.clientReference, clientSecret: known.clientSecret };
  const credentials = { clientId: newClientReference(), clientSecret: randomBytes(24).toString("base64url") };
  db.run(
    "insert into clients (clientReference, clientSecret, name, defaultEsimVariant, maxProfiles) values (?, ?, ?, ?, ?)",
    credentials.clientId,
    credentials.clientSecret,
    "Sandbox",
    "standard",
    1000,
  );
  return credentials;
}

import { WebhookError } from "@esim-webhooks/core";
import { addClient, type Credentials } from "./account/clients.ts";
import { basePath, createApi } from "./api/api.ts";
import { createRateLimits } from "./api/call/rate-limit.ts";
import { manualClock, runningClock } from "./base/clock.ts";
import { type Database, openDatabase } from "./base/database.ts";
import { createFaults } from "./base/faults.ts";
import { seededRandom } from "./base/random.ts";
import type { SandboxErrorCode } from "./base/refused.ts";
import type { Service } from "./base/service.ts";
import { createAdvance } from "./control/advance.ts";
import { createControl, type Environment } from "./control/app.ts";
import { createChanges, reportingDatabase } from "./control/changes.ts";
import { createHandle, type Handle } from "./control/handle.ts";
import type { Parts } from "./control/parts.ts";
import { type App, type Listener, listen } from "./listener.ts";
import { readOptions, type SandboxOptions, type SandboxSettings } from "./options.ts";
import { createPage } from "./page.ts";
import { keepTime, openFolder, savedTime, timekeepingDatabase } from "./saved-state.ts";
import { createSender } from "./sender/sender.ts";

/** The service, running on this machine. */
export interface Sandbox extends Handle, AsyncDisposable {
  /** The base address of the API; ends in `/api/v3`. */
  readonly url: string;
  /** The address of the control side and, in a browser, of its page. */
  readonly controlUrl: string;
  /** The credentials of the client that every sandbox has, as a partner gets them from support. */
  readonly credentials: Credentials;
  /** Stops the sandbox, and cuts open connections. Calls that wait, such as `advance`, reject with `closed`. The state in a folder is kept. */
  close(): Promise<void>;
}

const apiListener: Listener = { name: "the API", option: "port" };
const controlListener: Listener = { name: "the control side", option: "controlPort" };

/**
 * Starts the partner service on 127.0.0.1. Without earlier state, it has one client.
 * Throws `invalid_option`, `cannot_listen` (such as a taken port), `unusable_data` (the folder cannot be used) or
 * `unsupported_node` (this Node.js has no SQLite, or this is Bun).
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  checkNode();
  const settings = readOptions(options);
  const closers: (() => void | Promise<void>)[] = [];
  let closing: Promise<void> | undefined;
  async function closeAll(): Promise<void> {
    for (const closer of closers.reverse()) await closer();
  }
  const close = () => (closing ??= closeAll());
  try {
    const db = settings.data === undefined ? openDatabase() : await openFolder(settings.data);
    closers.push(() => db.close());
    const parts = partsOf(settings, db);
    closers.push(keepTime(db, parts.service.clock), () => parts.sender.close());
    const advance = createAdvance(parts);
    const credentials = credentialsOf(parts.service);
    const listening = async (app: App, port: number, listener: Listener) => {
      const { url, close } = await listen(app, port, listener);
      closers.push(close);
      return url;
    };
    const api = createApi(parts.service, parts.faults, parts.sender, parts.limits);
    const url = `${await listening(api, settings.port, apiListener)}${basePath}`;
    const environment = environmentOf(parts.service, url, credentials);
    const control = createControl(parts, advance, environment).route("/", createPage());
    return {
      ...createHandle(parts, advance),
      url,
      controlUrl: await listening(control, settings.controlPort, controlListener),
      credentials,
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function checkNode(): void {
  if ("bun" in process.versions) {
    throw new WebhookError<SandboxErrorCode>(
      "unsupported_node",
      "The sandbox sends deliveries with undici, and Bun puts its own module, which cannot, in its place.",
      "Run the sandbox on Node.js 22.18 or newer.",
    );
  }
  const sqlite: object | undefined = process.getBuiltinModule("node:sqlite");
  if (sqlite !== undefined) return;
  throw new WebhookError<SandboxErrorCode>(
    "unsupported_node",
    `The sandbox needs node:sqlite, which Node.js ${process.versions.node} does not have.`,
    "Use Node.js 22.18 or newer.",
  );
}

function partsOf(
  { speed = 1, switches, seed, onAttempt, ...settings }: SandboxSettings,
  db: Database,
): Parts {
  const changes = createChanges();
  const random = seededRandom(seed);
  const startAt = savedTime(db);
  const still = settings.clock === "manual" ? manualClock(startAt) : undefined;
  const clock = still ?? runningClock(speed, startAt);
  const service: Service = {
    db: reportingDatabase(timekeepingDatabase(db, clock), changes),
    clock,
    switches,
    random,
    onDue: () => {},
  };
  const { clientId } = credentialsOf(service);
  const faults = createFaults(random);
  return {
    service,
    faults,
    sender: createSender(service, faults, onAttempt),
    limits: createRateLimits(service),
    changes,
    manualClock: still,
    speed: still ? null : speed,
    clientReference: clientId,
  };
}

/** Returns the credentials of the first client. Adds this client to a new database. */
function credentialsOf(service: Service): Credentials {
  const first = service.db.get<Credentials>(
    "select clientReference as clientId, clientSecret from clients order by rowid limit 1",
  );
  return first === undefined ? addClient(service) : { ...first };
}

function environmentOf({ db }: Service, url: string, { clientId, clientSecret }: Credentials): Environment {
  const line = (name: string, value: string) => `export ${name}='${value}'\n`; // no value has a quote
  return {
    api: () =>
      line("ESIM_API_URL", url) + line("ESIM_CLIENT_ID", clientId) + line("ESIM_CLIENT_SECRET", clientSecret),
    receiver() {
      const secrets = db.all<{ signingSecret: string }>(
        "select signingSecret from endpoints where clientReference = ? order by createdAt, sequence",
        clientId,
      );
      if (secrets.length === 0) return "";
      return line("ESIM_WEBHOOK_SECRET", secrets.map(({ signingSecret }) => signingSecret).join(" "));
    },
  };
}

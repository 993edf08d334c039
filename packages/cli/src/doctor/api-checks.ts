import type { ApiClient, ClientOptions, WebhookEndpoint } from "@esim-webhooks/client";
import { type Catalog, esimCatalog, WebhookError } from "@esim-webhooks/core";
import { ago, instant } from "@esim-webhooks/core/internal";
import { compareTypes, readWatermark, type Watermark } from "@esim-webhooks/endpoint";
import { clientOptions } from "../api/client-options.ts";
import { openClient } from "../api/open-client.ts";
import { maskedText } from "../api/shown-record.ts";
import { explainedFindings } from "../endpoint/explained-findings.ts";
import { theEndpoint } from "../endpoint/find-endpoint.ts";
import { explainedCall } from "../program/call-error.ts";
import type { CliProcess } from "../program/context.ts";
import { shellWord } from "../program/shell.ts";
import { existingState } from "../set-up/open-target.ts";
import type { SetUp } from "../set-up/set-up.ts";
import { counted } from "../terminal/quantities.ts";
import { type Check, check, failed, passed } from "./check.ts";
import { checkGaps, checkHealth, checkKey, checkMissed, newestDeliveries } from "./delivery-checks.ts";
import type { DoctorFlags } from "./flags.ts";
import { checkInventory } from "./inventory-check.ts";
import { currentKeys } from "./set-up-checks.ts";

/** A service that is down should not hold up the other checks for long. */
const timeoutMs = 20_000;

/** Checks the credentials, the service's clock, the endpoint, its deliveries, and the stock. Makes no call that writes. */
export async function checkApi(
  setUp: SetUp,
  process: CliProcess,
  flags: Pick<DoctorFlags, "endpoint" | "inventory" | "variants">,
): Promise<readonly Check[]> {
  const options = clientOptions(setUp, process);
  const { baseUrl, fetch = globalThis.fetch } = options;
  const clock = watchServiceClock(fetch);
  const open: { api?: ApiClient } = {};
  const credentials = await checkCall("api", async () => {
    open.api = openClient(setUp, process, { ...options, timeoutMs, fetch: clock.fetch });
    const { clientReference } = await open.api.client.get();
    return passed("api", `client ${maskedText(clientReference)} at ${maskedText(baseUrl ?? "")}`);
  });
  const { api } = open;
  if (api === undefined || !credentials.ok) return [credentials];
  const inventory = await checkCall("inventory", () => checkInventory(api, flags));
  return [credentials, clock.check(), ...(await checkEndpoint(api, setUp, flags.endpoint)), inventory];
}

async function checkEndpoint(
  api: ApiClient,
  setUp: SetUp,
  reference: string | undefined,
): Promise<readonly Check[]> {
  const found: { endpoint?: WebhookEndpoint } = {};
  const endpoint = await checkCall("endpoint", async () => {
    found.endpoint = await theEndpoint(api, reference);
    return checkActive(found.endpoint);
  });
  if (found.endpoint === undefined) return [endpoint];
  const { endpoint: known } = found;
  const types = setUp.handlers && (await checkCall("types", () => checkTypes(api, known, setUp)));
  return [endpoint, ...(types ? [types] : []), ...(await checkDeliveries(api, setUp, known))];
}

function checkActive({ webhookEndpointReference, url, active }: WebhookEndpoint): Check {
  const named = `${webhookEndpointReference} (${maskedText(url)})`;
  if (active) return passed("endpoint", `${named} is active`);
  return failed(
    "endpoint",
    `${named} is not active, so the service sends nothing to it. The API has no call that activates it: ask support; esim-webhooks endpoint ensure <url> registers another one, once this one is deleted.`,
  );
}

/** Compares the event types of the endpoint with the handlers, as `endpoint ensure` does. */
async function checkTypes(
  api: ApiClient,
  { url, eventTypes: subscribed }: WebhookEndpoint,
  { handlers = {}, catalog = esimCatalog as Catalog<unknown> }: SetUp,
): Promise<Check> {
  const offered = (await api.catalog.webhookEventTypes()).map(({ eventType }) => eventType);
  const wanted = { names: Object.keys(handlers), areHandlers: true, known: catalog.types };
  const replace = `esim-webhooks endpoint ensure ${shellWord(maskedText(url))} --replace`;
  const found = compareTypes({ subscribed, wanted, offered });
  const findings = explainedFindings(found, {
    url,
    replace,
    rotate: "esim-webhooks rotate",
    change: undefined,
  });
  if (findings.length === 0)
    return passed("types", `${counted(subscribed.length, "event type")} subscribed, and handled`);
  const sentences = findings.map(({ problem, remedy }) => `${problem} ${remedy.replace(/\.$/, "")}`);
  return failed("types", sentences.join(". "));
}

async function checkDeliveries(
  api: ApiClient,
  setUp: SetUp,
  endpoint: WebhookEndpoint,
): Promise<readonly Check[]> {
  const checks: Check[] = [];
  let watermark: Watermark | undefined;
  const reconciled = await check("reconcile", async () => {
    watermark = await watermarkOf(setUp, endpoint.webhookEndpointReference);
    return checkReconciled(watermark);
  });
  const health = await checkCall("delivery", async () => {
    const newest = await newestDeliveries(api, endpoint.webhookEndpointReference);
    const keys = await currentKeys(setUp).catch(() => []); // the check of the secret says why
    checks.push(checkMissed(newest, watermark), checkGaps(watermark));
    if (keys.length > 0) checks.push(checkKey(keys, newest));
    return checkHealth(newest, endpoint, watermark);
  });
  return [health, ...checks, reconciled];
}

/** Runs a check that calls the API. An error becomes a failed check, in terms of the command line. */
function checkCall(name: string, look: () => Promise<Check>): Promise<Check> {
  return check(name, () =>
    look().catch((error: unknown) => {
      throw explainedCall(error);
    }),
  );
}

/** Reconcile should run daily at least, since the service lists events for 7 days only. */
const oldestMs = 2 * 24 * 60 * 60_000;

/** How far reconcile has come with an endpoint. Undefined before the first pass, and without a state. */
async function watermarkOf(setUp: SetUp, reference: string): Promise<Watermark | undefined> {
  const open = await existingState(setUp);
  try {
    return open && (await readWatermark(open.state, reference));
  } catch (error) {
    if (WebhookError.is(error) && (error.code as string) === "migration_missing") return undefined;
    throw error;
  } finally {
    await open?.close();
  }
}

/** Fails when the endpoint was reconciled once, but no events of the last 2 days are settled. */
export function checkReconciled(watermark: Watermark | undefined): Check {
  if (watermark === undefined)
    return passed("reconcile", "never yet: esim-webhooks reconcile --help says what it recovers");
  const { settledTo } = watermark;
  const now = Date.now();
  if (now - settledTo.getTime() <= oldestMs)
    return passed("reconcile", `the events are settled to ${ago(settledTo, now)}`);
  return failed(
    "reconcile",
    `The events are settled to ${instant(settledTo)} only, and the service lists them for 7 days. Run esim-webhooks reconcile --every 5m, or createReconciler in a worker.`,
  );
}

type Fetch = NonNullable<ClientOptions["fetch"]>;

/** How far the service's clock is ahead of ours: between these two, in ms. */
interface Offset {
  readonly least: number;
  readonly most: number;
}

/** Reads the `Date` headers of a client's answers, which the client does not show. */
export interface ServiceClock {
  /** Sends requests for the client. */
  readonly fetch: Fetch;
  check(): Check;
}

/** A tenth of the receivers' default tolerance. Clocks that are synchronised are never that far apart. */
const mostSkewMs = 30_000;

function watchServiceClock(send: Fetch): ServiceClock {
  const offsets: Offset[] = [];
  return {
    async fetch(url, init) {
      const sentAt = Date.now();
      const response = await send(url, init);
      const date = Date.parse(response.headers.get("date") ?? "");
      // the header has whole seconds
      if (!Number.isNaN(date)) offsets.push({ least: date - Date.now(), most: date + 1000 - sentAt });
      return response;
    },
    check: () => checkOffset(offsets),
  };
}

function checkOffset(offsets: readonly Offset[]): Check {
  if (offsets.length === 0) return passed("api-clock", "not checked: the service's answers have no Date");
  const least = Math.max(...offsets.map((offset) => offset.least));
  const most = Math.min(...offsets.map((offset) => offset.most));
  const skewMs = Math.max(least, -most, 0); // as far as the answers prove it
  if (skewMs === 0) return passed("api-clock", "agrees with the service's clock");
  const seconds = (skewMs / 1000).toFixed(1);
  if (skewMs <= mostSkewMs) return passed("api-clock", `${seconds} s from the service's clock`);
  return failed(
    "api-clock",
    `The service's clock is ${seconds} s ${least > 0 ? "ahead of" : "behind"} this machine's. Receivers refuse deliveries whose time is off by more than toleranceSeconds (300 by default). Synchronise this clock with NTP.`,
  );
}

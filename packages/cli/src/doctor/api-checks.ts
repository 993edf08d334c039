import type { ApiClient, WebhookEndpoint } from "@esim-webhooks/client";
import { type Catalog, esimCatalog } from "@esim-webhooks/core";
import { compareTypes, type Watermark } from "@esim-webhooks/endpoint";
import { clientOptions, openClient } from "../api/open-client.ts";
import { shownText } from "../api/shown-record.ts";
import { explainedFindings } from "../endpoint/explained-findings.ts";
import { theEndpoint } from "../endpoint/the-endpoint.ts";
import type { CliProcess } from "../program/context.ts";
import { explainedCall } from "../program/explained.ts";
import { shellWord } from "../program/shell-word.ts";
import type { SetUp } from "../set-up/set-up.ts";
import { counted } from "../terminal/quantities.ts";
import { type Check, check, failed, passed } from "./check.ts";
import { checkHealth, checkKey, checkMissed } from "./delivery-checks.ts";
import { newestDeliveries } from "./newest-deliveries.ts";
import { checkReconciled, watermarkOf } from "./reconcile-check.ts";
import { watchServiceClock } from "./service-clock.ts";
import { currentKeys } from "./set-up-checks.ts";

/** A service that is down should not hold up the other checks for long. */
const timeoutMs = 20_000;

/** Checks what the partner API says of the endpoint, if there are credentials. Changes nothing. */
export async function checkApi(
  setUp: SetUp,
  process: CliProcess,
  reference: string | undefined,
): Promise<readonly Check[]> {
  const options = clientOptions(setUp, process);
  const { baseUrl, clientId, clientSecret, exchange, fetch = globalThis.fetch } = options;
  if ([baseUrl, clientId, clientSecret, exchange].every((each) => each === undefined)) {
    return [
      passed(
        "api",
        "not looked at: with ESIM_API_URL, ESIM_CLIENT_ID and ESIM_CLIENT_SECRET, the endpoint and its deliveries are checked too",
      ),
    ];
  }
  const clock = watchServiceClock(fetch);
  const open: { api?: ApiClient } = {};
  const credentials = await checkCall("api", async () => {
    open.api = openClient(setUp, process, { ...options, timeoutMs, fetch: clock.fetch });
    const { clientReference } = await open.api.client.get();
    return passed("api", `client ${shownText(clientReference, false)} at ${shownText(baseUrl ?? "", false)}`);
  });
  const { api } = open;
  if (api === undefined || !credentials.ok) return [credentials];
  return [credentials, clock.check(), ...(await checkEndpoint(api, setUp, reference))];
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
  const named = `${webhookEndpointReference} (${shownText(url, false)})`;
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
  const replace = `esim-webhooks endpoint ensure ${shellWord(shownText(url, false))} --replace`;
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
    checks.push(checkMissed(newest, watermark));
    if (keys.length > 0) checks.push(checkKey(keys, newest));
    return checkHealth(newest, endpoint, watermark);
  });
  return [health, ...checks, reconciled];
}

/** An error of a call becomes a failed check, in terms of the command line. */
function checkCall(name: string, look: () => Promise<Check>): Promise<Check> {
  return check(name, () =>
    look().catch((error: unknown) => {
      throw explainedCall(error);
    }),
  );
}

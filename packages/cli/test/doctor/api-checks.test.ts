import { join } from "node:path";
import type { WebhookDelivery, WebhookEndpoint } from "@esim-webhooks/client";
import { newSecret } from "@esim-webhooks/core/testing";
import { reconcile } from "@esim-webhooks/endpoint";
import type { SandboxOptions } from "@esim-webhooks/sandbox";
import { sqliteInbox, sqliteState } from "@esim-webhooks/store-sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkReconciled } from "../../src/doctor/api-checks.ts";
import { checkHealth } from "../../src/doctor/delivery-checks.ts";
import { startReceiver, startService } from "../api/service.ts";
import { cli, folder, jsonLines } from "../cli.ts";

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string;
  readonly code?: string;
}

/** The service with one endpoint, whose receiver answers with this status. */
async function startEndpoint(status = 200, options: SandboxOptions = {}) {
  const service = await startService({ clock: "manual", ...options });
  const url = await startReceiver(status, "{}");
  const endpoint = await service.api.webhooks.create({ url, eventTypes: ["esim.enabled", "esim.disabled"] });
  const { webhookEndpointReference: reference, signingSecret } = endpoint;
  return {
    ...service,
    reference,
    url,
    signingSecret,
    async emit(times = 1) {
      for (let sent = 0; sent < times; sent += 1)
        await service.sandbox.emit({ type: "esim.enabled", data: {} });
      await service.sandbox.settled();
    },
    examine: (args: readonly string[] = [], config = "") =>
      examine(args, { ...service.env, ESIM_WEBHOOK_SECRET: signingSecret }, config),
  };
}

async function examine(args: readonly string[], env: Record<string, string>, config = "") {
  const cwd = folder(config === "" ? {} : { "esim-webhooks.config.mjs": config });
  const ended = await cli(["doctor", "--json", ...args], { env, cwd });
  const [report] = jsonLines(ended) as [{ ok: boolean; checks: Check[] }];
  return { ...ended, ...report, of: Object.fromEntries(report.checks.map((check) => [check.name, check])) };
}

describe("doctor with the partner API", () => {
  it("checks the credentials, the clock, the endpoint, its deliveries and the key", async () => {
    const { examine, emit, reference, url, sandbox } = await startEndpoint();
    await emit(3);
    const { code, of, stderr } = await examine();
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(of["api"]?.message).toBe(`client ${sandbox.credentials.clientId} at ${sandbox.url}`);
    expect(of["api-clock"]?.message).toBe("agrees with the service's clock");
    expect(of["endpoint"]?.message).toBe(`${reference} (${url}) is active`);
    expect(of["delivery"]?.message).toMatch(
      /^newest 3 deliveries: 3 delivered; the last attempt, .+, got answer 200$/,
    );
    expect(of["missed"]?.message).toBe("none of the last 7 days");
    expect(of["key"]?.message).toMatch(
      /^key:[0-9a-f]{8} here; the receiver accepted a delivery (now|\d+s ago), and only its log/,
    );
  });

  it("warns when no eSIM of a variant is left to order, and fails at the bound of --inventory", async () => {
    const { examine, sandbox, api } = await startEndpoint();
    const variants = (await api.catalog.esimVariants()).map(({ esimVariant }) => esimVariant as string);
    const [used, unused] = variants as [string, string];
    for (const variant of variants) await sandbox.setStock(variant, 30);
    expect((await examine()).of["inventory"]).toMatchObject({
      ok: true,
      message: expect.stringContaining(`30 eSIMs of ${used} left`),
    });
    await sandbox.setStock(unused, 0);
    const empty = (await examine()).of["inventory"];
    expect(empty).toMatchObject({ ok: true, warning: true });
    expect(empty?.message).toBe(
      `no eSIM of ${unused} left. An order is refused when none is left: ask the provider for more.`,
    );
    expect((await examine(["--inventory", "29", "--variants", used])).of["inventory"]?.ok).toBe(true);
    const low = await examine(["--inventory", "30", "--variants", used]);
    expect([low.code, low.of["inventory"]?.message]).toEqual([
      3,
      expect.stringContaining(`30 eSIMs of ${used}`),
    ]);
    const misspelt = await examine(["--variants", "misspelt"]);
    expect(misspelt.of["inventory"]?.message).toMatch(/^The client may not order misspelt\./);
  });

  it("says that there is no delivery yet", async () => {
    const { examine } = await startEndpoint();
    const { code, of } = await examine();
    expect(code).toBe(0);
    expect(of["delivery"]?.message).toBe("none in the last 7 days");
    expect(of["key"]?.message).toMatch(
      /^key:[0-9a-f]{8}; no delivery shows yet whether the service signs with it$/,
    );
  });

  it("reports wrong credentials, and asks no more then", async () => {
    const { env } = await startEndpoint();
    const { code, of, stdout } = await examine([], { ...env, ESIM_CLIENT_SECRET: "not-the-secret" });
    expect(code).toBe(3);
    expect(of["api"]).toMatchObject({
      ok: false,
      code: "wrong_credentials",
      message: expect.stringContaining("Check ESIM_CLIENT_ID and ESIM_CLIENT_SECRET"),
    });
    expect(Object.keys(of)).not.toContain("endpoint");
    expect(stdout).not.toContain("not-the-secret");
  });

  it("reports that only some of the credentials are set", async () => {
    const { of } = await examine([], { ESIM_CLIENT_ID: "123456" });
    expect(of["api"]).toMatchObject({
      ok: false,
      code: "missing_credentials",
      message: expect.stringContaining("ESIM_API_URL and ESIM_CLIENT_SECRET are not set."),
    });
  });

  it("reports that the service cannot be reached", async () => {
    const { examine, sandbox } = await startEndpoint();
    await sandbox.close();
    const { code, of } = await examine([], "export default { api: { maxAttempts: 1 } };");
    expect(code).toBe(3);
    expect(of["api"]).toMatchObject({ ok: false, code: "unreachable" });
  });

  it("reports a clock that is off, by the Date of the service's answers", async () => {
    const { examine } = await startEndpoint();
    const dated = (date: string) => `export default { api: { async fetch(url, init) {
      const given = await fetch(url, init);
      const answer = new Response(await given.arrayBuffer(), given); // fetch cancels a body whose response is collected as garbage
      ${date}
      return answer;
    } } };`;
    const skewed = (ms: number) =>
      dated(`answer.headers.set("date", new Date(Date.now() + ${ms}).toUTCString());`);
    const late = await examine([], skewed(600_000));
    expect(late.code).toBe(3);
    expect(late.of["api-clock"]).toMatchObject({
      ok: false,
      message: expect.stringMatching(
        /^The service's clock is (5\d\d|60\d)\.\d s ahead of this machine's\. .*NTP\.$/,
      ),
    });
    expect((await examine([], skewed(-600_000))).of["api-clock"]?.message).toContain(
      " s behind this machine's",
    );
    const { code, of } = await examine([], dated(`answer.headers.delete("date");`));
    expect({ code, message: of["api-clock"]?.message }).toEqual({
      code: 0,
      message: "not checked: the service's answers have no Date",
    });
  });

  it("reports an endpoint that is not active", async () => {
    const { examine, sandbox, reference } = await startEndpoint();
    await sandbox.setEndpointActive(reference, false);
    const { code, of } = await examine();
    expect(code).toBe(3);
    expect(of["endpoint"]).toMatchObject({
      ok: false,
      message: expect.stringContaining("is not active, so the service sends nothing to it."),
    });
  });

  it("asks which endpoint, if the client has several, and takes --endpoint", async () => {
    const { examine, api, reference } = await startEndpoint();
    const { webhookEndpointReference: other } = await api.webhooks.create({
      url: "https://other.example/webhooks",
      eventTypes: ["esim.enabled"],
    });
    const { code, of } = await examine();
    expect(code).toBe(3);
    expect(of["endpoint"]).toMatchObject({ ok: false, code: "endpoint_unknown" });
    expect(of["endpoint"]?.message).toContain("Name it with --endpoint.");
    expect(of["endpoint"]?.message).toContain(other);
    const named = await examine(["--endpoint", reference]);
    expect(named.code).toBe(0);
    expect(named.of["endpoint"]?.message).toContain(reference);
  });

  it("compares the event types of the endpoint with the handlers of the config", async () => {
    const { examine, url } = await startEndpoint();
    const handlers = (...types: string[]) =>
      `export default { handlers: { ${types.map((type) => `"${type}": () => {}`).join(", ")} } };`;
    const well = await examine([], handlers("esim.enabled", "esim.disabled"));
    expect(well.code).toBe(0);
    expect(well.of["types"]?.message).toBe("2 event types subscribed, and handled");
    const { code, of } = await examine([], handlers("esim.enabled", "esim.faulted"));
    expect(code).toBe(3);
    expect(of["types"]?.ok).toBe(false);
    expect(of["types"]?.message).toMatch(
      /^The endpoint is not subscribed to esim\.faulted, which handlers take: .*--replace\. The endpoint is subscribed to esim\.disabled, but no handler takes/,
    );
    expect(of["types"]?.message).toContain(`esim-webhooks endpoint ensure ${url} --replace`);
    expect((await examine()).of["types"]).toBeUndefined(); // without handlers there is nothing to compare
  });

  it("reports a receiver that fails most deliveries, and the deliveries that are given up", async () => {
    const { examine, emit, sandbox, url } = await startEndpoint(500);
    await emit(2);
    const failing = await examine();
    expect(failing.code).toBe(3);
    expect(failing.of["delivery"]).toMatchObject({
      ok: false,
      message: expect.stringMatching(
        /^newest 2 deliveries: 0 delivered; 2 still to come; the last attempt, .+, got answer 500\. See what the receiver at /,
      ),
    });
    expect(failing.of["delivery"]?.message).toContain(url);
    expect(failing.of["missed"]).toMatchObject({ ok: true });
    await sandbox.advance("16h");
    const { of } = await examine();
    expect(of["missed"]).toMatchObject({
      ok: false,
      message:
        "The service gave up 2 deliveries of the last 7 days. esim-webhooks reconcile brings the events in. " +
        "The attempts of 2 are dated ahead of this machine's clock, as on a sandbox whose clock was advanced: doctor shows them as missed until that time, also after reconcile.",
    });
  });

  it("says how far reconciling has come, and takes no settled delivery for a missed one", async () => {
    const { examine, emit, api, reference } = await startEndpoint(400);
    await emit(2);
    expect((await examine()).of["reconcile"]?.message).toContain("never yet");
    const path = join(folder(), "hooks.db");
    const config = `import { sqliteInbox, sqliteState } from "@esim-webhooks/store-sqlite";
      const path = ${JSON.stringify(path)};
      export default { target: sqliteInbox({ path }), state: sqliteState({ path }) };`;
    const missed = await examine([], config);
    expect(missed.of["missed"]?.message).toContain("The service gave up 2 deliveries");
    const inbox = sqliteInbox({ path });
    const state = sqliteState({ path });
    onTestFinished(async () => void (await Promise.all([inbox.close(), state.close?.()])));
    const since = new Date(Date.now() - 3_600_000);
    await reconcile(api, reference, inbox, { state, since });
    const { of } = await examine([], config);
    expect(of["reconcile"]).toMatchObject({
      ok: true,
      message: expect.stringMatching(/^the events are settled to /),
    });
    expect(of["missed"]?.message).toMatch(/^none of the last 7 days; reconcile has settled 2$/);
    expect(of["delivery"]?.ok).toBe(false); // the receiver still answers 400
  });

  it("takes an outage for over that reconcile has settled, once the receiver accepts a delivery", () => {
    const url = "https://shop.example/webhooks";
    const at = (minute: number) => `2026-11-20T10:0${minute}:00Z`;
    const sent = (minute: number, fields: Partial<WebhookDelivery>) =>
      ({
        eventId: `msg_${minute}`,
        payload: {},
        nextRetryAt: null,
        sentAt: at(minute),
        ...fields,
      }) as WebhookDelivery;
    const missed = [1, 2, 3].map((minute) => sent(minute, { status: "exhausted", httpStatus: 503 }));
    const accepted = sent(4, { status: "delivered", httpStatus: 200 });
    const deliveries = { deliveries: [accepted, ...missed], isAll: true };
    const mark = new Date(at(3));
    const endpoint = { url } as WebhookEndpoint;
    expect(checkHealth(deliveries, endpoint, undefined).ok).toBe(false);
    expect(checkHealth(deliveries, endpoint, { mark, settledTo: mark, gaps: [] }).ok).toBe(true);
    const down = { deliveries: missed, isAll: true };
    expect(checkHealth(down, endpoint, { mark, settledTo: mark, gaps: [] }).ok).toBe(false);
  });

  it("warns when the newest three deliveries failed, although most of the newest hundred got through", () => {
    const at = (minute: number, httpStatus: number | null) =>
      ({
        eventId: `msg_${minute}`,
        status: httpStatus === 200 ? "delivered" : "pending",
        httpStatus,
        sentAt: new Date(Date.UTC(2026, 10, 20, 10, minute)).toISOString(),
        nextRetryAt: "2026-11-20T12:00:00Z",
        payload: {},
      }) as WebhookDelivery;
    const check = (...statuses: (number | null)[]) =>
      checkHealth(
        { deliveries: statuses.map((status, index) => at(statuses.length - index, status)), isAll: true },
        { url: "https://shop.example/webhooks" } as WebhookEndpoint,
        undefined,
      );
    expect(check(null, null, 503, 200, 200, 200, 200)).toMatchObject({
      ok: true,
      warning: true,
      message: expect.stringContaining("the last 3 attempts failed. See what the receiver at"),
    });
    expect(check(null, null, 200, 200, 200, 200, 200)).not.toHaveProperty("warning");
  });

  it("reports that nobody has reconciled lately", () => {
    const settledTo = new Date(Date.now() - 3 * 24 * 60 * 60_000);
    expect(checkReconciled({ mark: settledTo, settledTo, gaps: [] })).toMatchObject({
      ok: false,
      message: expect.stringMatching(
        /^The events are settled to 20\S+ \S+Z only, .* --every 5m, or createReconciler/,
      ),
    });
  });

  it("reports a receiver that answers 401: it does not have the key", async () => {
    const { examine, emit } = await startEndpoint(401);
    await emit();
    const { code, of } = await examine();
    expect(code).toBe(3);
    expect(of["key"]).toMatchObject({
      ok: false,
      message: expect.stringMatching(
        /^The receiver answered 401 .*\(here: key:[0-9a-f]{8}\)\. Give it the endpoint's/,
      ),
    });
  });

  it("shows all keys that are valid during a rotation", async () => {
    const { env, signingSecret } = await startEndpoint();
    const { of } = await examine([], { ...env, ESIM_WEBHOOK_SECRET: `${signingSecret} ${newSecret()}` });
    expect(of["key"]?.message).toMatch(/^key:\w{8}, key:\w{8}; /);
  });

  it("says when it read only the newest deliveries", async () => {
    const { examine, emit } = await startEndpoint(200, { switches: { rateLimit: "off" } });
    await emit(2001);
    const { code, of } = await examine();
    expect(code).toBe(0);
    expect(of["missed"]?.message).toMatch(
      /^none of the newest 2,000 deliveries; those before \d{4}-\d\d-\d\d \S+Z were not read$/,
    );
  });
});

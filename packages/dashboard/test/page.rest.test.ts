import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import {
  createReceiver,
  createWorker,
  defineCatalog,
  type EsimEvents,
  type Handlers,
  type InboxAdmin,
  type InboxEntry,
} from "@esim-webhooks/core";
import { watchDrift } from "@esim-webhooks/core/drift";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { type DashboardOptions, inboxDashboard } from "@esim-webhooks/dashboard";
import { sqliteInbox, sqliteState } from "@esim-webhooks/store-sqlite";
import axe from "axe-core";
import {
  type Browser,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
  type Route,
} from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { chromiumPath } from "../../../test/servers/chromium.ts";
import { folderOfEachTest } from "../../store-sqlite/test/temporary-folder.ts";
import { fill, report } from "./filled-inbox.ts";

const folder = folderOfEachTest();
let browser: Browser;
beforeAll(async () => {
  browser = await chromium.launch({ executablePath: chromiumPath() });
});
afterAll(() => browser.close());

const newInbox = () =>
  sqliteInbox({ path: join(folder.path, "inbox.db"), lane: ({ data }) => data.esimReference ?? null });
type TestInbox = ReturnType<typeof newInbox>;

function opened(): TestInbox {
  const inbox = newInbox();
  onTestFinished(() => inbox.close());
  return inbox;
}

/** Serves the dashboard below a prefix. Returns its address. */
async function serve(inbox: InboxAdmin, options: Partial<DashboardOptions> = {}): Promise<string> {
  const dashboard = inboxDashboard(inbox, {
    authorize: () => ({ role: "operator", name: "ada" }),
    ...options,
  });
  const server = createServer((request, response) => void dashboard.node(request, response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/ops/inbox/`;
}

interface Opened {
  readonly page: Page;
  /** What the browser refused, and what the page's scripts threw. */
  readonly errors: readonly string[];
}

async function visit(
  address: string,
  options: BrowserContextOptions = {},
  prepare?: (page: Page) => Promise<unknown>,
): Promise<Opened> {
  const page = await browser.newPage(options);
  await prepare?.(page);
  page.setDefaultTimeout(120_000);
  onTestFinished(() => page.close());
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  page.on("dialog", (dialog) => {
    errors.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.addInitScript(
    `addEventListener("securitypolicyviolation", (event) => console.error("refused " + event.violatedDirective))`,
  );
  await page.goto(address);
  await page.locator("h1").waitFor();
  return { page, errors };
}

const button = (page: Page, name: string | RegExp): Locator =>
  page.getByRole("button", { name, exact: typeof name === "string" });
const link = (page: Page, name: string | RegExp): Locator => page.getByRole("link", { name });
const shown = (page: Page, text: string): Promise<void> =>
  page.getByRole("main").getByText(text).filter({ visible: true }).first().waitFor();
const said = (page: Page, text: string): Promise<void> =>
  page.getByRole("status").filter({ hasText: text }).waitFor();

/** Workers report until the test ends, as they do every ten seconds: after 30 s without a report, a worker is gone. */
async function keepReporting(send: () => Promise<void> | undefined): Promise<void> {
  await send();
  let sent: Promise<void> | undefined;
  const timer = setInterval(() => {
    sent = send();
  }, 10_000);
  onTestFinished(() => {
    clearInterval(timer);
    return sent;
  });
}

const lease = { limit: 500, leaseMs: 3_600_000 };

interface Planted {
  readonly id: string;
  readonly type?: string;
  readonly receivedAt?: Date;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly source?: string;
  readonly text?: string;
}

/** An entry whose type and body may be text of an attacker. */
function plantedEntry({
  id,
  type = "esim.faulted",
  receivedAt = new Date(),
  data = {},
  source = "default",
  text,
}: Planted): InboxEntry {
  const timestamp = receivedAt.toISOString();
  const envelope = { type, timestamp, data: { ...sampleData("esim.faulted"), ...data } };
  return {
    source,
    id,
    type,
    event: { id, ...envelope },
    body: Buffer.from(text ?? JSON.stringify(envelope)),
    receivedAt,
    key: "key:1a2b3c4d",
  };
}

/** Stores events, which are all dead of an error. */
async function putDead(
  inbox: TestInbox,
  events: readonly Planted[],
  error = "Error: CRM is down",
): Promise<void> {
  await inbox.put(events.map(plantedEntry));
  for (;;) {
    const taken = await inbox.take(lease);
    if (taken.length === 0) return;
    await inbox.settle(
      taken.map(({ source, id, token }) => ({
        source,
        id,
        token,
        state: "dead" as const,
        error,
        report: {
          reason: "failed" as const,
          durationMs: 12,
          error: error.split("\n")[0] ?? "",
          worker: "w-1",
        },
      })),
    );
  }
}

async function work(inbox: TestInbox, failing: readonly string[] = []): Promise<void> {
  const handlers: Handlers<EsimEvents> = {
    "*": ({ id }) => {
      if (failing.includes(id)) throw new Error("CRM answered 422");
    },
  };
  const stop = new AbortController();
  const running = createWorker(inbox, handlers, { pollMs: 20, maxAttempts: 1 }).run({ signal: stop.signal });
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
}

const hashOf = (view: string, query: Readonly<Record<string, string>> = {}): string =>
  `#/${view}?${new URLSearchParams(query)}`;

/** Holds the answers of a call until `release`. Then the call goes on, or is answered with `failure`. */
async function hold(page: Page, name: string): Promise<(failure?: object) => Promise<void>> {
  const held: Route[] = [];
  let isReleased = false;
  await page.route(`**/api/${name}`, async (route) => {
    if (isReleased) await route.continue();
    else held.push(route);
  });
  return async (failure) => {
    await expect.poll(() => held.length).toBeGreaterThan(0);
    isReleased = true;
    const answer = (route: Route) =>
      failure === undefined ? route.continue() : route.fulfill({ status: 503, json: failure });
    await Promise.all(held.map(answer));
  };
}

async function open(page: Page, hash: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
}

const attacks = [
  `<script>globalThis.ran=1</script>`,
  `<img src=x onerror="globalThis.ran=1">`,
  `"><svg onload="globalThis.ran=1">`,
  `'-->]]><iframe srcdoc="<script>top.ran=1</script>">`,
  `javascript:globalThis.ran=1`,
  `\${globalThis.ran=1}{{globalThis.ran=1}}`,
  `__proto__`,
  `\u202e\u2066<b style="background:url(//evil.example)">`,
];
const attack = attacks.join(" ");
const [script = ""] = attacks;

describe("what events, workers and operators have written", () => {
  it("is shown as text in every view, and runs nothing", async () => {
    const inbox = opened();
    const planted = attacks.map((text, number) => ({
      id: `msg_${number}_${text}`,
      type: text,
      source: text,
      data: { esimReference: `${text}`, [text]: text, nested: { [text]: [text, { [text]: text }] } },
    }));
    await putDead(inbox, planted, `Error: ${attack}\n    at ${attack}`);
    await inbox.put([plantedEntry({ id: "msg_waits", type: attack, data: { esimReference: attack } })]);
    await inbox.noteRun({
      kind: "import",
      run: attack,
      source: attack,
      startedAt: new Date(),
      endedAt: new Date(),
      outcome: "complete",
      ledger: { [attack]: 1 },
    });
    const worker = { id: attack, host: attack, pid: 1, version: attack, concurrency: 20, running: 1 };
    await keepReporting(() => inbox.report?.({ ...worker, startedMsAgo: 0, sinceLastTakeMs: 0 }));
    await inbox.pause({
      types: [script],
      reason: attack.slice(0, 200),
      by: attack.slice(0, 200),
      catalog: { types: [script] },
    });
    const catalog = defineCatalog({});
    const address = await serve(inbox, {
      authorize: () => ({ role: "operator", name: attack.slice(0, 200) }),
      title: attacks[1]?.slice(0, 40),
      catalog: { ...catalog, types: attacks },
      client: {
        webhooks: {
          async *list() {
            yield { webhookEndpointReference: attack, url: attack, active: true, eventTypes: attacks };
          },
          async *deliveries() {
            yield {
              eventId: attack,
              eventType: attack,
              status: attack,
              attemptNumber: 1,
              httpStatus: 200,
              sentAt: new Date().toISOString(),
            };
          },
        },
      },
    } as Partial<DashboardOptions>);
    const { page, errors } = await visit(address);
    const shows = (text: string) => shown(page, text);
    await shows(script);
    await page.getByText("w-1").or(page.locator(".rows")).first().waitFor();
    for (const text of attacks) {
      await open(
        page,
        hashOf("events", { type: text, error: text, idPrefix: text, source: text, since: text }),
      );
      await page.getByRole("main").getByText("No events match").or(page.getByRole("alert")).first().waitFor();
      await open(page, hashOf("events", { state: "dead", type: text }));
      await page.locator("[data-row]", { hasText: text }).first().click();
      await shows("Why it is dead");
      await button(page, "Reveal…").click();
      await button(page, "Reveal").click();
      await said(page, "without masks");
      await page
        .locator(".json-key")
        .filter({ hasText: JSON.stringify(text) })
        .first()
        .waitFor();
      await open(page, hashOf("esim", { subject: text }));
      await page.locator("[data-row]", { hasText: text }).first().waitFor();
      await open(page, `#/${text}`);
      await page.getByRole("heading", { name: "Not found" }).waitFor();
    }
    await open(page, "#/events?state=dead");
    await button(page, "Retry all…").click();
    await button(page, `Retry ${attacks.length}`).click();
    await said(page, `Retried ${attacks.length} events.`);
    await open(page, "#/types");
    await button(page, `Resume ${script}`).click();
    await button(page, "Resume").click();
    await said(page, `Resumed ${script}.`);
    for (const view of ["runs", "endpoints", "now"]) {
      await open(page, `#/${view}`);
      await shows(script);
    }
    expect(await page.evaluate("globalThis.ran")).toBeUndefined();
    expect(
      await page.evaluate(
        "document.querySelectorAll('img, iframe, body script, [onload], [onerror]').length",
      ),
    ).toBe(0);
    expect(errors.filter((error) => !/status of 40[04]/.test(error))).toEqual([]);
  });

  it("keeps every digit of a number, the order of keys, and keys that occur twice", async () => {
    const inbox = opened();
    const text = `{"type":"esim.faulted","timestamp":"2026-11-20T10:00:00Z","data":{"b":12345678901234567890.10,"2":-0.0,"1":1e400,"b":"again"}}`;
    await putDead(inbox, [{ id: "msg_1", text }]);
    const { page } = await visit((await serve(inbox)) + hashOf("event", { source: "default", id: "msg_1" }));
    await button(page, "Reveal…").click();
    await button(page, "Reveal").click();
    await said(page, "without masks");
    const leaves = page.locator(".json-inner .json-inner .json-leaf");
    expect(await leaves.allTextContents()).toEqual([
      `"b": 12345678901234567890.10`,
      `"2": -0.0`,
      `"1": 1e400`,
      `"b": "again"`,
    ]);
  });

  it("shows a long list a hundred items at a time, and only once it is opened", async () => {
    const inbox = opened();
    const items = Array.from({ length: 250 }, (_, n) => n);
    const text = JSON.stringify({ type: "esim.faulted", timestamp: "2026-11-20T10:00:00Z", data: { items } });
    await putDead(inbox, [{ id: "msg_1", text }]);
    const { page } = await visit((await serve(inbox)) + hashOf("event", { source: "default", id: "msg_1" }));
    const items100 = page.locator(".json-inner .json-inner .json-inner > .json-leaf");
    await page.getByText("250 items").waitFor();
    expect(await items100.count()).toBe(0);
    await page.getByText("250 items").click();
    await button(page, "Show 100 more").click();
    await button(page, "Show 50 more").click();
    await items100.nth(249).waitFor();
    expect(await items100.count()).toBe(250);
  });
});

describe("a viewer", () => {
  it("finds no action in any view, and is refused one that is sent anyway", async () => {
    const inbox = opened();
    await putDead(inbox, [{ id: "msg_1" }]);
    await inbox.pause({ types: ["esim.faulted"], reason: "CRM is down" });
    const address = await serve(inbox, { authorize: () => ({ role: "viewer", name: "vera" }) });
    const { page, errors } = await visit(address);
    await page.getByText("vera, viewer").waitFor();
    const marks = {
      now: "CRM is down",
      "events?state=dead": "msg_1",
      types: "paused",
      event: "Why it is dead",
    };
    for (const [view, mark] of Object.entries(marks)) {
      await open(page, view === "event" ? hashOf("event", { source: "default", id: "msg_1" }) : `#/${view}`);
      await shown(page, mark);
      expect(await button(page, /…$/).count(), view).toBe(0);
    }
    expect(errors).toEqual([]);
    for (const [name, input] of [
      ["retry", { filter: {}, most: 1 }],
      ["discard", { filter: {}, most: 1 }],
      ["resume", { type: null }],
      ["reveal", { source: "default", id: "msg_1" }],
    ] as const) {
      const headers = { "content-type": "application/json", "x-esim-webhooks-dashboard": "1" };
      const sent = JSON.stringify({ method: "POST", headers, body: JSON.stringify(input) });
      const status = await page.evaluate(`fetch("api/${name}", ${sent}).then((response) => response.status)`);
      expect(status, name).toBe(403);
    }
    expect((await inbox.gauges()).counts.dead).toBe(1);
  });
});

describe("an operator", () => {
  it("who retries what another one has just retried learns that it was no longer possible", async () => {
    const inbox = opened();
    await putDead(inbox, [{ id: "msg_1" }, { id: "msg_2" }, { id: "msg_3" }]);
    const address = await serve(inbox);
    const [first, second] = await Promise.all([
      visit(`${address}#/events?state=dead`),
      visit(`${address}#/events?state=dead`),
    ]);
    const one = await visit(address + hashOf("event", { source: "default", id: "msg_3" }));
    for (const { page } of [first, second]) {
      await button(page, "Retry all…").click();
      await page.getByRole("heading", { name: "Retry 3 events?" }).waitFor();
    }
    await button(one.page, "Retry…").click();
    await button(first.page, "Retry 3").click();
    await said(first.page, "Retried 3 events.");
    await button(second.page, "Retry 3").click();
    await said(second.page, "Retried 0 of 3 events. 3 were no longer dead");
    await button(one.page, "Retry").click();
    await said(one.page, "Not retried: the event is no longer dead.");
  });

  it("finds why 500 events died, retries those of one type since yesterday, and watches them finish, by keyboard alone", async () => {
    const inbox = opened();
    const hourMs = 3_600_000;
    const at = (index: number) => new Date(Date.now() - index * 1000);
    const events = Array.from({ length: 500 }, (_, index) => ({
      id: `msg_${index}`,
      type: index < 300 ? "esim.faulted" : "esim.enabled",
      receivedAt: index % 10 === 9 ? new Date(at(index).getTime() - 72 * hourMs) : at(index),
      data: { esimReference: `esim-${index}` },
    }));
    await putDead(inbox, events, "Error: CRM answered 503\n    at handle (file:///app/handlers.js:10:11)");
    const { page, errors } = await visit(await serve(inbox));
    await link(page, "Error: CRM answered 503").waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await focused(page, "h1");
    await link(page, "Dead 500").waitFor();
    await page.locator("[data-row]").nth(1).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await page.keyboard.press("Enter");
    await page.getByText("Why it is dead").waitFor();
    await tabTo(page, "summary", "Stack");
    await page.keyboard.press("Enter");
    await page.getByText("handlers.js:10:11").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { name: "Events", exact: true }).waitFor();
    await tabTo(page, "summary", "Type");
    await page.keyboard.press("Enter");
    await tabTo(page, "input[type=checkbox]", "esim.faulted");
    await page.keyboard.press("Space");
    await link(page, "Dead 300").waitFor();
    await page.keyboard.press("Escape");
    await tabTo(page, "summary", "Received");
    await page.keyboard.press("Enter");
    await tabTo(page, "button", "Since yesterday");
    await page.keyboard.press("Enter");
    await link(page, "Dead 270").waitFor();
    await button(page, "Retry all…").and(page.locator(":enabled")).waitFor();
    await tabTo(page, "button", "Retry all…", "Shift+Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Retry 270 events?" }).waitFor();
    await tabTo(page, "button", "Retry 270");
    await page.keyboard.press("Enter");
    await said(page, "Retried 270 events.");
    await tabTo(page, "a", "Show all");
    await page.keyboard.press("Enter");
    await link(page, "Ready 270").waitFor();
    const progress = page.getByRole("region", { name: "The last retry" });
    await progress.getByText("0 of 270 done, 270 waiting").waitFor();
    await inbox.put([plantedEntry({ id: "msg_other" })]); // of the same type, and not retried
    await page.reload(); // such as after a new log-in
    await work(inbox, ["msg_0", "msg_1", "msg_2"]);
    await progress.getByText("267 of 270 done, 3 dead again", { exact: true }).waitFor();
    await page.getByRole("status").filter({ hasText: "All have ended: 267 of 270 done" }).waitFor();
    await link(page, "Done 268").waitFor();
    expect(await progress.getByText("An estimate").count()).toBe(0);
    await tabTo(page, "a", "Show the dead");
    await page.keyboard.press("Enter");
    await page.locator("td.col-error", { hasText: "CRM answered 422" }).nth(2).waitFor();
    expect((await inbox.gauges()).counts.dead).toBe(233);
    await button(page, "Dismiss").first().click();
    await progress.waitFor({ state: "detached" });
    expect(errors).toEqual([]);
  });

  it("who retries sees how many have failed again, and that it is an estimate where another one has interfered", async () => {
    const inbox = opened();
    await putDead(inbox, [{ id: "msg_1" }, { id: "msg_2" }]);
    const partly = {
      ...inbox,
      redrive: async (...args: Parameters<TestInbox["redrive"]>) => (await inbox.redrive(...args)) - 1,
    };
    const { page } = await visit(`${await serve(partly)}#/events?state=dead`);
    await button(page, "Retry all…").click();
    await button(page, "Retry 2").click();
    const progress = page.getByRole("region", { name: "The last retry" });
    await progress.getByText("0 of 2 done, 2 waiting").waitFor();
    await progress.getByText("An estimate: another operator").waitFor();
    const [taken] = await inbox.take({ limit: 1, leaseMs: 60_000 });
    const { source = "", id = "", token = "" } = taken ?? {};
    await inbox.settle([{ source, id, token, state: "retry", afterMs: 3_600_000, error: "no" }]);
    await progress.getByText("1 of those that wait have failed again").waitFor();
    await button(page, "Stop watching").click();
    await progress.waitFor({ state: "detached" });
  });

  it("who retries while the type is paused and no worker reports reads both, before and after", async () => {
    const inbox = opened();
    await putDead(inbox, [{ id: "msg_1" }, { id: "msg_2", type: "esim.enabled" }]);
    await inbox.pause({ types: ["esim.faulted"], reason: "INC-4711", by: "olga" });
    const { page } = await visit((await serve(inbox)) + hashOf("event", { source: "default", id: "msg_1" }));
    const dialog = page.getByRole("dialog");
    const isPaused = "esim.faulted is paused by olga: INC-4711.";
    const noWorker = "No worker has reported in the last 30 s.";
    await button(page, "Retry…").click();
    await dialog.getByText(isPaused).waitFor();
    await dialog.getByText(noWorker).waitFor();
    expect(await dialog.textContent()).not.toContain("as soon as");
    await button(page, "Cancel").click();
    await open(page, "#/events?state=dead&type=esim.faulted");
    await button(page, "Retry all…").click();
    await dialog.getByText(isPaused).waitFor();
    await button(page, "Retry 1").click();
    const progress = page.getByRole("region", { name: "The last retry" });
    await progress.getByText(isPaused).waitFor();
    await progress.getByText(noWorker).waitFor();
    await keepReporting(() => report(inbox));
    await open(page, "#/events?state=dead&type=esim.enabled");
    await link(page, "Dead 1").waitFor();
    await button(page, "Retry all…").click();
    await dialog.getByText("as soon as a worker is free").waitFor();
  });

  it("who retries again still sees the progress of the retry before", async () => {
    const inbox = opened();
    await putDead(inbox, [{ id: "msg_1" }, { id: "msg_2", type: "esim.enabled" }]);
    const { page } = await visit(await serve(inbox));
    for (const type of ["esim.faulted", "esim.enabled"]) {
      await open(page, `#/events?state=dead&type=${type}`);
      await page.locator(".events tr", { hasText: type }).waitFor();
      await button(page, "Retry all…").click();
      await button(page, "Retry 1").click();
      await said(page, "Retried 1 event.");
    }
    await page.reload();
    const last = page.getByRole("region", { name: "The last retry" });
    const before = page.getByRole("region", { name: "The second to last retry" });
    await last.getByText("esim.enabled").waitFor();
    await before.getByText("esim.faulted").waitFor();
    await work(inbox, ["msg_1"]);
    await last.getByText("1 of 1 done", { exact: true }).waitFor();
    await before.getByText("0 of 1 done, 1 dead again", { exact: true }).waitFor();
    await last.getByRole("button", { name: "Dismiss" }).click();
    await before.waitFor({ state: "detached" });
    await last.getByText("esim.faulted").waitFor();
  });

  it("opens an event by a click anywhere in its row", async () => {
    const inbox = opened();
    await putDead(inbox, [{ id: "msg_1" }]);
    const { page } = await visit(`${await serve(inbox)}#/events`, { viewport: { width: 1280, height: 760 } });
    await page.locator("td.col-attempts").waitFor();
    const box = await page.locator("td.col-attempts").boundingBox();
    await page.mouse.click((box?.x ?? 0) + 5, (box?.y ?? 0) + 5);
    await page.getByText("Why it is dead").waitFor();
  });

  it("who opens a filter on a narrow screen moves nothing else, and reads whole names", async () => {
    const { page } = await visit(`${await serve(opened())}#/events`, {
      viewport: { width: 360, height: 760 },
    });
    await page.getByText("The inbox is empty").waitFor();
    const below = () => page.getByText("The inbox is empty").boundingBox();
    const before = await below();
    for (const [index, name] of ["Type", "Received"].entries()) {
      await page.locator(".menu > summary").nth(index).click();
      const list = page.locator(".menu-list").nth(index);
      const [shownList, filters] = [await list.boundingBox(), await page.locator(".filters").boundingBox()];
      expect([shownList?.x, shownList?.width], name).toEqual([filters?.x, filters?.width]);
      expect(await below(), name).toEqual(before);
      const cut =
        "[...document.querySelectorAll('[open] .menu-list')].filter((list) => list.scrollWidth > list.clientWidth)";
      expect(await page.evaluate(`${cut}.length`), name).toBe(0);
      await page.keyboard.press("Escape");
    }
  });

  it("who closes a dialog while it works still sees that the action has failed", async () => {
    const inbox = opened();
    await putDead(inbox, [{ id: "msg_1" }]);
    const { page } = await visit(`${await serve(inbox)}#/events?state=dead`);
    const release = await hold(page, "retry");
    await button(page, "Retry all…").click();
    await button(page, "Retry 1").click();
    await button(page, "Working…").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await release({ code: "inbox_unavailable", message: "The inbox does not answer. Check its database." });
    await said(page, "The inbox does not answer. Check its database. (inbox_unavailable)");
  });

  it("sees whose pause it is before replacing it, and which pauses end with that of all types", async () => {
    const inbox = opened();
    await inbox.pause({ types: ["esim.faulted"], reason: "CRM is down", by: "olga" });
    const { page } = await visit(`${await serve(inbox)}#/now`);
    const dialog = page.getByRole("dialog");
    await button(page, "Pause all…").click();
    await dialog.getByLabel("Reason").waitFor();
    await inbox.pause({ reason: "a migration", by: "olga" }); // while the dialog is open
    await dialog.getByLabel("Reason").fill("a deploy");
    await button(page, "Pause").click();
    await dialog.getByText("All types have been paused by olga").waitFor();
    expect((await inbox.paused()).map(({ by }) => by)).toEqual(["olga", "olga"]);
    await button(page, "Cancel").click();
    await button(page, "Pause all…").click();
    await dialog.getByText("paused by olga").waitFor();
    await dialog.getByLabel("Reason").fill("a deploy");
    await button(page, "Replace").click();
    await said(page, "Paused all events.");
    expect((await inbox.paused()).map(({ type, by }) => [type, by])).toEqual([
      [null, "ada"],
      ["esim.faulted", "olga"],
    ]);
    await page.getByRole("main").getByText("a deploy").waitFor();
    await button(page, "Resume…").first().click();
    await page.getByRole("heading", { name: "End all 2 pauses?" }).waitFor();
    await dialog.getByText("CRM is down").waitFor();
    await dialog.getByText("a deploy").waitFor();
    await button(page, "Resume").click();
    await said(page, "Ended 2 pauses.");
    expect(await inbox.paused()).toEqual([]);
  });

  it("sees the dead of yesterday by type behind thousands of newer events, and where there are more than it counts", async () => {
    const inbox = opened();
    const yesterday = new Date(Date.now() - 86_400_000);
    await putDead(inbox, [
      { id: "msg_1", receivedAt: yesterday },
      { id: "msg_2", receivedAt: yesterday, type: "esim.enabled" },
      { id: "msg_3", receivedAt: yesterday, type: "esim.enabled" },
    ]);
    for (let batch = 0; batch < 3; batch += 1)
      await inbox.put(
        Array.from({ length: 400 }, (_, index) => plantedEntry({ id: `msg_new_${batch}_${index}` })),
      );
    const { page } = await visit(`${await serve(inbox)}#/types`);
    const cells = (type: string) =>
      page.locator(".types tr", { hasText: type }).locator("td.number:not(.wide)").allTextContents();
    const row = (...counts: string[]) => [...counts, "Pause…"];
    await page.locator(".types").waitFor();
    expect(await cells("esim.faulted")).toEqual(row("1,200", "0", "0", "0", "1"));
    expect(await cells("esim.enabled")).toEqual(row("0", "0", "0", "0", "2"));
    expect(await page.getByText("A count with +").count()).toBe(0);
    const counts = [{ type: "esim.faulted", count: 3, lastAt: null }];
    await page.route("**/api/typeCounts", (route) => route.fulfill({ json: { counts, nextCursor: "next" } }));
    await page.reload();
    await page.getByText("A count with +").waitFor();
    expect(await cells("esim.faulted")).toEqual(row("30+", "0", "30+", "0", "3"));
    await button(page, /^Show \d+ types without counted events$/).click();
    expect(await cells("esim.enabled")).toEqual(row("0+", "0", "0+", "0", "0"));
  });

  it("sees how the events of a type differ from the catalog, also of one that the catalog does not have", async () => {
    const inbox = opened();
    const state = sqliteState({ path: join(folder.path, "inbox.db") });
    onTestFinished(() => state.close());
    const drift = watchDrift(state);
    const secret = newSecret();
    const receiver = createReceiver(inbox, { secret, drift });
    for (const [type, data] of [
      ["esim.faulted", { ...sampleData("esim.faulted"), reason: "sim_locked" }],
      ["package.activated", {}],
    ] as const) {
      const { headers, body } = signedRequest({ type, data } as never, { secret });
      await receiver.receive({ method: "POST", headers, body });
    }
    await receiver.close();
    const { page } = await visit(`${await serve(inbox, { drift: state })}#/types`);
    await shown(page, "reason of esim.faulted has a value that is not documented: sim_locked");
    await shown(page, "the catalog does not have package.activated");
  });

  it("sees types in the order of what needs attention, and those without events folded", async () => {
    const inbox = opened();
    await inbox.put(
      ["1", "2", "3"].map((id) => plantedEntry({ id, type: "esim.enabled", data: { esimReference: id } })),
    );
    const taken = await inbox.take(lease);
    await inbox.settle(taken.map(({ source, id, token }) => ({ source, id, token, state: "done" })));
    await putDead(inbox, [{ id: "msg_1", type: "esim.installed" }, { id: "msg_2" }, { id: "msg_3" }]);
    await inbox.pause({ types: ["esim.assigned"], reason: "CRM is down" });
    const { page } = await visit(`${await serve(inbox)}#/types`);
    const types = page.locator(".types [data-row]");
    await types.first().waitFor();
    const busy = ["esim.faulted", "esim.installed", "esim.enabled", "esim.assigned"];
    expect(await types.allTextContents()).toEqual(busy);
    const fold = button(page, /types without events$/);
    const [, idle] = (await fold.textContent())?.match(/^Show (\d+) types/) ?? [];
    expect(Number(idle)).toBeGreaterThan(1);
    await fold.click();
    expect(await types.count()).toBe(busy.length + Number(idle));
    await fold.click();
    expect(await types.allTextContents()).toEqual(busy);
  });

  it("knows each state, what is due and what is paused by an icon of its own and a word, and paused rows are dimmed", async () => {
    const inbox = opened();
    await fill(inbox, 200);
    const { page } = await visit(await serve(inbox));
    const shapes = new Map<string, string>();
    const read = async (places: Locator) => {
      await places.first().waitFor();
      for (const place of await places.all()) {
        const name = (await place.textContent())?.match(/^\s*([A-Za-z]+)/)?.[1] ?? "";
        const shape = await place.locator("svg.icon").innerHTML();
        expect(shapes.get(name) ?? shape, name).toBe(shape);
        shapes.set(name, shape);
      }
    };
    await read(page.locator(".figure dt:has(svg)"));
    await open(page, "#/events?type=esim.balance.updated");
    await read(page.locator(".tabs a:has(svg)"));
    await read(page.locator("td .state"));
    expect([...shapes.keys()].sort()).toEqual(
      ["Dead", "Done", "Due", "Leased", "Paused", "Ready", "Unhandled"].sort(),
    );
    expect(new Set(shapes.values()).size).toBe(shapes.size);
    const styleOf = (state: string, selector: string, name: string) =>
      page.evaluate(
        `getComputedStyle(document.querySelector("tbody tr:has(.state-${state})${selector}")).${name}`,
      );
    expect(await styleOf("paused", "", "backgroundImage")).toContain("gradient");
    expect(await styleOf("done", "", "backgroundImage")).toBe("none");
    const [paused, done] = await Promise.all(
      ["paused", "done"].map((state) => styleOf(state, " [data-row]", "color")),
    );
    expect(paused).not.toBe(done);
  });

  it("sees how many events are done next to those of the other states, and the eSIM and the end of a dead one", async () => {
    const inbox = opened();
    await inbox.put(["1", "2"].map((id) => plantedEntry({ id, data: { esimReference: id } })));
    const taken = await inbox.take(lease);
    await inbox.settle(taken.map(({ source, id, token }) => ({ source, id, token, state: "done" })));
    const receivedAt = new Date(Date.now() - 2 * 86_400_000);
    await putDead(inbox, [{ id: "msg_1", receivedAt, data: { esimReference: "730155284096610234" } }]);
    const { page } = await visit(`${await serve(inbox)}#/events`, { viewport: { width: 1280, height: 760 } });
    await link(page, "Done 2").waitFor();
    await link(page, "Dead 1").click();
    await page.getByRole("columnheader", { name: "Died" }).waitFor();
    await page.locator(".rows[aria-busy=false]").waitFor();
    expect(await page.locator("td.col-time").allTextContents()).toEqual([
      "2 d ago",
      expect.stringMatching(/^(now|\d+ (?:s|min) ago)$/),
    ]);
    await link(page, "…96610234").click();
    await page.locator(".timeline li").waitFor();
  });

  it("finds the focus where it was after Escape: on what opened a dialog, and on the row that opened an event", async () => {
    const inbox = opened();
    await putDead(inbox, [{ id: "msg_1" }, { id: "msg_2" }]);
    const { page } = await visit(`${await serve(inbox)}#/events?state=dead`);
    const escapeFrom = async (name: string) => {
      await button(page, name).click();
      await page.getByRole("dialog").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.locator("button:focus", { hasText: name }).waitFor();
    };
    await button(page, "Retry all…").and(page.locator(":enabled")).waitFor();
    await escapeFrom("Retry all…");
    await escapeFrom("Delete all…");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    const row = await page.locator("[data-row]:focus").getAttribute("href");
    await page.keyboard.press("Enter");
    await shown(page, "Why it is dead");
    for (const name of ["Reveal…", "Delete…", "Retry…"]) await escapeFrom(name);
    await page.keyboard.press("Escape");
    await focused(page, `[data-row][href="${row}"]`);
    await open(page, "#/types");
    await button(page, "Pause esim.faulted").click();
    await page.getByLabel("Reason").fill("CRM is down");
    await page.keyboard.press("Escape");
    await focused(page, "[aria-label='Pause esim.faulted']");
  });

  it("reads what was done for some seconds, longer while the pointer or the focus is on it, and until dismissed if something was not done", async () => {
    const inbox = opened();
    await putDead(inbox, [{ id: "msg_1" }, { id: "msg_2" }]);
    const { page } = await visit(`${await serve(inbox)}#/types`);
    await page.clock.install();
    const message = page.getByRole("status").filter({ hasText: "Paused" });
    await button(page, "Pause esim.faulted").click();
    await page.getByLabel("Reason").fill("CRM is down");
    await page.clock.pauseAt(Date.now() + 60_000);
    await button(page, "Pause").click();
    await said(page, "Paused esim.faulted.");
    await page.clock.runFor(5000);
    expect(await message.count()).toBe(1);
    await message.hover();
    await page.clock.runFor(30_000);
    expect(await message.count()).toBe(1);
    await page.mouse.move(0, 0);
    await button(page, "Dismiss").focus();
    await page.clock.runFor(30_000);
    expect(await message.count()).toBe(1);
    await page.locator("h1").focus();
    await page.clock.runFor(7000);
    await message.waitFor({ state: "detached" });
    await page.clock.resume();
    await open(page, "#/events?state=dead");
    await button(page, "Delete all…").click();
    await button(page, "Delete 2").waitFor();
    await inbox.redrive({ ids: ["msg_1"] }); // another operator
    await button(page, "Delete 2").click();
    await said(page, "Deleted 1 of 2 events.");
    await page.clock.runFor(60_000);
    await said(page, "Deleted 1 of 2 events.");
    await button(page, "Dismiss").click();
    await page.getByText("Deleted 1 of 2 events.").waitFor({ state: "detached" });
  });

  it("reads when the next attempt is due in the time zone of the browser", async () => {
    const inbox = opened();
    await inbox.put([plantedEntry({ id: "msg_1" })]);
    const [taken] = await inbox.take({ limit: 1, leaseMs: 60_000 });
    const { source = "", id = "", token = "" } = taken ?? {};
    await inbox.settle([{ source, id, token, state: "retry", afterMs: 3_600_000, error: "no" }]);
    const { dueAt } = (await inbox.get({ source, id })) ?? {};
    const { page } = await visit((await serve(inbox)) + hashOf("event", { source, id }), {
      timezoneId: "Asia/Tokyo",
    });
    const tokyo = new Date((dueAt?.getTime() ?? 0) + 9 * 3_600_000).toISOString();
    const time = `${tokyo.slice(0, 10)} ${tokyo.slice(11, 19)}`;
    await page.getByText(`the next one is due at ${time}, in `).waitFor();
    expect(await page.locator(".waits time").getAttribute("title")).toMatch(/^\d{4}-\d\d-\d\d .*Z$/);
  });

  it("removes the filter by a cause, and keeps the others", async () => {
    const inbox = opened();
    await putDead(inbox, [{ id: "msg_1" }], "Error: CRM answered 503");
    await putDead(inbox, [{ id: "msg_2" }], "Error: no such SIM");
    const { page } = await visit(await serve(inbox));
    await link(page, "Error: no such SIM").click();
    const ids = page.locator("td.col-id");
    await expect.poll(() => ids.allTextContents()).toEqual(["msg_2"]);
    await button(page, "Remove the cause").click();
    await ids.nth(1).waitFor();
    expect(new URL(page.url()).hash).toBe("#/events?state=dead");
    expect(await button(page, "Remove the cause").count()).toBe(0);
  });

  it("sees the rows of the filter before dimmed until those of the new one are there, and no action on them", async () => {
    const inbox = opened();
    await putDead(inbox, [{ id: "msg_1" }, { id: "msg_2", type: "esim.enabled" }]);
    const { page } = await visit(`${await serve(inbox)}#/events?state=dead`);
    await page.locator("td.col-id").nth(1).waitFor();
    const rows = page.locator(".main .rows");
    expect(await rows.getAttribute("aria-busy")).toBe("false");
    const release = await hold(page, "list");
    await open(page, "#/events?state=dead&type=esim.enabled");
    await page.locator(".rows[aria-busy=true]").waitFor();
    const opacity = "Number(getComputedStyle(document.querySelector('.main .rows')).opacity)";
    expect(await page.evaluate(opacity)).toBeLessThan(1);
    expect(await page.locator("td.col-id").count()).toBe(2);
    expect(await button(page, "Retry all…").isDisabled()).toBe(true);
    await release();
    await page.locator(".rows[aria-busy=false]").waitFor();
    expect(await page.locator("td.col-id").allTextContents()).toEqual(["msg_2"]);
    await expect.poll(() => button(page, "Retry all…").isEnabled()).toBe(true);
    await inbox.redrive({ ids: ["msg_2"] }); // another operator
    await page.getByText("no longer here").waitFor();
    expect(await page.locator("td.col-id").allTextContents()).toEqual(["msg_2"]);
  });

  it("sees new events announced, and not put under the cursor, and none while live updates are off", async () => {
    const inbox = opened();
    const at = Date.now() - 60_000;
    await inbox.put([plantedEntry({ id: "msg_1", receivedAt: new Date(at) })]);
    const { page } = await visit(`${await serve(inbox)}#/events`);
    const rows = page.locator("tbody tr");
    await rows.first().waitFor();
    await inbox.put([plantedEntry({ id: "msg_2", receivedAt: new Date(at + 1000) })]);
    await button(page, "Show 1 new event").waitFor();
    expect(await rows.count()).toBe(1);
    await button(page, "Show 1 new event").click();
    await rows.nth(1).waitFor();
    expect(await rows.first().textContent()).toContain("msg_2");
    const live = page.getByRole("switch", { name: "Live updates" });
    await live.click();
    await page.locator("[role=switch][aria-checked=false]").waitFor();
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"); // a poll may be due in this frame
    let calls = 0;
    page.on("request", () => (calls += 1));
    await inbox.put([plantedEntry({ id: "msg_3" })]);
    await page.clock.install();
    await page.clock.runFor(60_000);
    expect(calls).toBe(0);
    await live.click();
    await button(page, "Show 1 new event").waitFor();
  });

  it("goes from page to page without a row twice, and back", async () => {
    const inbox = opened();
    const at = Date.now();
    await inbox.put(
      Array.from({ length: 70 }, (_, index) =>
        plantedEntry({ id: `msg_${index}`, receivedAt: new Date(at - index * 1000) }),
      ),
    );
    const { page } = await visit(`${await serve(inbox)}#/events`);
    const ids = page.locator("td.col-id");
    await ids.nth(49).waitFor();
    const first = await ids.allTextContents();
    await link(page, "Older").click();
    await ids.filter({ hasText: "msg_69" }).waitFor();
    const second = await ids.allTextContents();
    expect(new Set([...first, ...second]).size).toBe(70);
    await page.reload();
    await ids.filter({ hasText: "msg_69" }).waitFor();
    await button(page, "Back").click();
    await ids.filter({ hasText: /^msg_0$/ }).waitFor();
  });

  it("pauses a type with a reason, sees it in Now, and resumes it", async () => {
    const inbox = opened();
    const { page, errors } = await visit(`${await serve(inbox)}#/types`);
    await button(page, "Pause esim.faulted").click();
    await page.getByLabel("Reason").fill("CRM is down");
    await button(page, "Pause").click();
    await said(page, "Paused esim.faulted.");
    expect((await inbox.paused()).map(({ type, reason, by }) => ({ type, reason, by }))).toEqual([
      { type: "esim.faulted", reason: "CRM is down", by: "ada" },
    ]);
    await link(page, "Now").click();
    await page.getByRole("main").getByText("CRM is down").waitFor();
    await button(page, "Resume…").click();
    await button(page, "Resume").click();
    await said(page, "Resumed esim.faulted.");
    await page.getByText("Nothing is paused").waitFor();
    expect(errors).toEqual([]);
  });

  it("deletes one dead event, and not one whose id begins in the same way", async () => {
    const inbox = opened();
    await putDead(inbox, [{ id: "msg_1" }, { id: "msg_12" }]);
    const { page } = await visit((await serve(inbox)) + hashOf("event", { source: "default", id: "msg_1" }));
    await button(page, "Delete…").click();
    await button(page, "Cancel").click();
    await button(page, "Delete…").click();
    await button(page, "Delete").click();
    await said(page, "Deleted the event.");
    expect((await inbox.list({}, { limit: 10 })).rows.map(({ id }) => id)).toEqual(["msg_12"]);
  });

  it("erases an eSIM from its timeline", async () => {
    const inbox = opened();
    await putDead(inbox, [{ id: "msg_1", data: { esimReference: "esim-1" } }]);
    const { page } = await visit((await serve(inbox)) + hashOf("esim", { subject: "esim-1" }));
    await link(page, "esim.faulted").waitFor();
    await button(page, "Erase…").click();
    await page.getByRole("heading", { name: "Erase the personal data of 1 event?" }).waitFor();
    await button(page, "Erase").click();
    await said(page, "Erased the personal data of 1 event. Not reached:");
    const items = await page.getByRole("status").getByRole("listitem").allTextContents();
    expect(items).toContain("Backups and copies of the inbox.");
    expect((await inbox.get({ source: "default", id: "msg_1" }))?.body).toBeNull();
  });
});

describe("a large inbox", () => {
  /** As if the engine searched thousands of newer events before it comes to these. */
  const behindMany = (inbox: TestInbox): TestInbox => ({
    ...inbox,
    async list(filter, { cursor, ...options } = {}) {
      if (filter?.subject === undefined || cursor !== undefined) return inbox.list(filter, options);
      await new Promise((resolve) => setTimeout(resolve, 210)); // one search of the page has no time for another
      return { rows: [], nextCursor: "older", searchedTo: new Date("2026-11-20T12:00:00Z") };
    },
  });

  it("is never said to have no event of an eSIM before it was searched to the end, and an erasure counts them all", async () => {
    const inbox = opened();
    await putDead(inbox, [
      { id: "msg_1", data: { esimReference: "esim-1" } },
      { id: "msg_2", data: { esimReference: "esim-1" } },
    ]);
    const address = await serve(behindMany(inbox));
    const { page } = await visit(address + hashOf("esim", { subject: "esim-1" }), { timezoneId: "UTC" });
    await page.getByText("No event found yet").waitFor();
    await page.getByText("the search stopped at events received 2026-11-20 12:00").waitFor();
    expect(await page.getByText("No event of this eSIM").count()).toBe(0);
    await button(page, "Erase…").click();
    await page.getByRole("heading", { name: "Erase the personal data of 2 events?" }).waitFor();
    await button(page, "Cancel").click();
    await link(page, "Search further back").click();
    await link(page, "esim.faulted").nth(1).waitFor();
    await open(page, hashOf("events", { subject: "esim-1" }));
    await page.getByText("No event found yet").waitFor();
    expect(await page.getByText("No events match").count()).toBe(0);
  });
});

describe("an action on many events", () => {
  /** Counts no further than 3, as the engine stops at 10,000; and each round is small. */
  async function visitMany(inbox: TestInbox): Promise<Page> {
    const limited: TestInbox = {
      ...inbox,
      async gauges() {
        const gauges = await inbox.gauges();
        return { ...gauges, counts: { ...gauges.counts, dead: 4 }, capped: ["dead"] };
      },
    };
    const { page } = await visit(`${await serve(limited)}#/events?state=dead`);
    await page.route("**/api/retry", (route) => {
      const input = { ...(route.request().postDataJSON() as object), most: 2 };
      return route.continue({ postData: JSON.stringify(input) });
    });
    await button(page, "Retry all…").click();
    await page.getByRole("heading", { name: "Retry more than 3 events?" }).waitFor();
    await page.getByText("It continues until no older event matches, or you stop it.").waitFor();
    return page;
  }
  const six = Array.from({ length: 6 }, (_, index) => ({ id: `msg_${index}` }));

  it("continues by itself until none is left", async () => {
    const inbox = opened();
    await putDead(inbox, six);
    const page = await visitMany(inbox);
    await button(page, "Retry all").click();
    await said(page, "Retried 6 events.");
    expect((await inbox.gauges()).counts.dead).toBe(0);
    await page.getByRole("region", { name: "The last retry" }).getByText("0 of 6 done").waitFor();
  });

  it("says how far it is, and can be stopped after a round", async () => {
    const inbox = opened();
    await putDead(inbox, six);
    const page = await visitMany(inbox);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let rounds = 0;
    await page.route("**/api/retry", async (route) => {
      rounds += 1;
      if (rounds === 2) await held;
      await route.fallback();
    });
    await button(page, "Retry all").click();
    await page.getByRole("status").filter({ hasText: "2 events so far." }).waitFor();
    await button(page, "Stop").click();
    release();
    await said(page, "Retried 4 events, then stopped: the rest is as it was.");
    expect((await inbox.gauges()).counts.dead).toBe(2);
  });

  it("may be for chosen rows alone", async () => {
    const inbox = opened();
    await putDead(inbox, [...six, { id: "msg_0", source: "partner-b" }]);
    const { page } = await visit(`${await serve(inbox)}#/events?state=dead`);
    await page.getByRole("checkbox", { name: "Choose all of this page" }).check();
    await button(page, "Retry 7…").waitFor();
    for (const id of ["msg_1", "msg_2", "msg_3", "msg_4"])
      await page.getByRole("checkbox", { name: `Choose ${id}` }).uncheck();
    await button(page, "Delete 3…").click();
    await page.getByRole("heading", { name: "Delete 3 events?" }).waitFor();
    await button(page, "Delete 3").click();
    await said(page, "Deleted 3 events.");
    const left = (await inbox.list()).rows.map(({ id }) => id);
    expect(left.sort()).toEqual(["msg_1", "msg_2", "msg_3", "msg_4"]);
    await button(page, "Delete all…").waitFor();
  });
});

describe("the page", () => {
  it("shows filters that the engine lacks disabled, with the reason", async () => {
    const inbox = opened();
    const { page } = await visit(
      `${await serve({ ...inbox, capabilities: { ...inbox.capabilities, filters: ["state", "ids"] } })}#/events`,
    );
    await page.getByText("finds events only by their state or their whole id.").waitFor();
    for (const name of ["Type", "Received", "Error contains", "eSIM", "Source"])
      expect(await page.getByRole("search").getByLabel(name).isDisabled(), name).toBe(true);
    expect(await page.getByLabel("Id begins with").isEnabled()).toBe(true);
  });

  it("shows what is wrong and how to fix it, with its code, while the inbox does not answer, and then recovers", async () => {
    const inbox = opened();
    let isDown = true;
    const failing: InboxAdmin = {
      ...inbox,
      async list(...args) {
        if (isDown) throw new Error("disk full");
        return inbox.list(...args);
      },
    };
    const { page } = await visit(`${await serve(failing)}#/events`);
    const alert = page.getByRole("alert");
    await alert.waitFor();
    expect(await alert.textContent()).toMatch(/\S+ .*\. .*\.\s*(?:internal_error|inbox_unavailable)$/);
    isDown = false;
    await alert.waitFor({ state: "detached" });
    await page.getByText("The inbox is empty").waitFor();
  });

  it("marks the figures of a database that does not answer with their time, and is not live then", async () => {
    const inbox = opened();
    await putDead(inbox, [{ id: "msg_1" }]);
    const { page } = await visit(await serve(inbox));
    const live = page.getByRole("switch");
    await link(page, "1 dead").waitFor();
    expect(await live.textContent()).toBe("Live updateson");
    const green = await page.evaluate(liveColor);
    await page.route("**/api/gauges", (route) =>
      route.fulfill({
        status: 503,
        json: { code: "inbox_unavailable", message: "The inbox does not answer." },
      }),
    );
    await page.getByText(/^The figures below are as of \d\d:\d\d:\d\d\.$/).waitFor();
    await link(page, /1 dead as of \d\d:\d\d:\d\d/).waitFor();
    expect(await live.textContent()).toBe("Live updatesno answer");
    expect(await page.evaluate(liveColor)).not.toBe(green);
    await page.unroute("**/api/gauges");
    await page.getByRole("alert").waitFor({ state: "detached" });
    expect(await live.textContent()).toBe("Live updateson");
  });

  it("folds an error of 48 lines, and shows a long id with one ellipsis", async () => {
    const inbox = opened();
    const id = `msg_${"0123456789".repeat(6)}`;
    const lines = Array.from({ length: 48 }, (_, number) => `line ${number + 1} of the error`);
    await putDead(inbox, [{ id }], lines.join("\n"));
    const { page } = await visit(`${await serve(inbox)}#/events?state=dead`, {
      viewport: { width: 1280, height: 760 },
    });
    await page.locator("td.col-id").waitFor();
    expect(await page.evaluate("getComputedStyle(document.querySelector('td.col-id')).textOverflow")).toBe(
      "clip",
    );
    await open(page, hashOf("event", { source: "default", id }));
    const panel = page.locator(".panel", { has: page.getByRole("heading", { name: "Why it is dead" }) });
    const height = async () => (await panel.boundingBox())?.height ?? 0;
    const unfold = panel.getByRole("button", { name: "Show all 48 lines" });
    await unfold.waitFor();
    expect(await height()).toBeLessThan(300);
    await unfold.click();
    await panel.getByRole("button", { name: "Fold" }).waitFor();
    expect(await height()).toBeGreaterThan(700);
  });

  it("says at the top of Now that no worker reports, and no more once one does", async () => {
    const inbox = opened();
    const { page } = await visit(await serve(inbox));
    const line = page.locator(".problem", { hasText: "No worker has reported in the last 30 s." });
    await line.waitFor();
    await keepReporting(() => report(inbox));
    await page.reload();
    await page.getByText("20/20 slots").waitFor();
    expect(await line.count()).toBe(0);
  });

  it("asks again who looks until the server answers", async () => {
    let failures = 2;
    const { page } = await visit(await serve(opened()), {}, (page) =>
      page.route("**/api/session", async (route) => {
        failures -= 1;
        await (failures >= 0 ? route.abort() : route.continue());
      }),
    );
    await page.getByText("ada, operator").waitFor();
    expect(failures).toBe(-1);
  });

  it("shows the error of a view that cannot be rendered, and the other views still work", async () => {
    const { page, errors } = await visit(`${await serve(opened())}`);
    await page.route("**/api/types", (route) => route.fulfill({ json: { types: null } }));
    await link(page, "Types").click();
    await page.getByRole("heading", { name: "This view failed" }).waitFor();
    expect(await page.getByRole("alert").textContent()).toMatch(
      /The page failed: TypeError.* Reload it\..*page_error/,
    );
    await link(page, "Events").click();
    await page.getByText("The inbox is empty").waitFor();
    expect(errors).toEqual([]);
  });

  it("shows deliveries that lack fields, and which events were missed, and reads them again when asked", async () => {
    const inbox = opened();
    await inbox.put([plantedEntry({ id: "msg_1", source: "partner-b" })]);
    let reads = 0;
    const lacking = {
      eventId: null,
      eventType: null,
      status: null,
      attemptNumber: null,
      httpStatus: null,
      nextRetryAt: null,
      sentAt: null,
    };
    const client: DashboardOptions["client"] = {
      webhooks: {
        async *list() {
          reads += 1;
          yield { webhookEndpointReference: "WHE1", url: "no URL", active: false, eventTypes: [] };
        },
        async *deliveries() {
          yield lacking;
          yield { ...lacking, eventId: "msg_1", status: "delivered" };
          yield { ...lacking, eventId: "msg_lost", status: "exhausted", attemptNumber: 10 };
        },
      },
    };
    const { page, errors } = await visit(`${await serve(inbox, { client })}#/endpoints`);
    await page.getByText("1 event is not in the inbox").waitFor();
    for (const text of ["no id", "no status", "no type", "not sent yet", "not active: nothing is delivered"])
      await shown(page, text);
    expect(await page.locator("h2").first().textContent()).toBe("Missed");
    expect(await page.locator(".deliveries").first().locator("tbody tr").allTextContents()).toEqual([
      expect.stringContaining("msg_lostnot in the inbox"),
    ]);
    expect(reads).toBe(1);
    await button(page, "Refresh").click();
    await expect.poll(() => reads).toBe(2);
    await link(page, "msg_1").click();
    await page.locator(".facts").getByText("partner-b").waitFor();
    expect(errors).toEqual([]);
  });

  it("keeps the chosen theme, and its title is readable on any colour", async () => {
    const { page } = await visit(await serve(opened(), { title: "production", color: "#ffd400" }));
    await page.getByLabel("Theme").selectOption("dark");
    await page.reload();
    await page.locator("html[data-theme=dark]").waitFor();
    await page.locator(".badge").waitFor();
    expect(await page.evaluate("getComputedStyle(document.querySelector('.badge')).color")).toBe(
      "rgb(0, 0, 0)",
    );
    await expect.poll(() => page.title()).toBe("Now · production · Webhook inbox");
  });

  it.each([
    ["light", 1280],
    ["dark", 1280],
    ["light", 360],
    ["dark", 360],
  ] as const)(
    "is accessible in the %s, %i pixels wide, and never wider than the screen",
    async (colorScheme, width) => {
      const inbox = opened();
      await fill(inbox, 400);
      await keepReporting(() => report(inbox));
      const address = await serve(inbox, {
        title: "production",
        color: "#b42318",
        handlers: { "esim.enabled": () => {} },
        client: {
          webhooks: {
            async *list() {
              yield {
                webhookEndpointReference: "WHE1",
                url: "https://a.example/",
                active: true,
                eventTypes: ["esim.faulted"],
              };
            },
            async *deliveries() {
              const { rows } = await inbox.list({ types: ["esim.faulted"] }, { limit: 30 });
              for (const [index, { id, type }] of rows.entries())
                yield {
                  eventId: index % 5 === 0 ? `missed_${id}` : id,
                  eventType: type,
                  status: index % 5 === 0 ? "exhausted" : "delivered",
                  attemptNumber: 1,
                  httpStatus: index % 5 === 0 ? 503 : 202,
                  nextRetryAt: null,
                  sentAt: new Date().toISOString(),
                };
            },
          },
        },
      } as Partial<DashboardOptions>);
      const { page, errors } = await visit(address, { colorScheme, viewport: { width, height: 760 } });
      const [dead] = (await inbox.list({ state: "dead", types: ["esim.faulted"] }, { limit: 1 })).rows;
      const event = await inbox.get({ source: dead?.source ?? "", id: dead?.id ?? "" });
      const marks: Readonly<Record<string, string>> = {
        "#/now": ".causes li",
        "#/events?state=dead": ".events td.col-type",
        "#/types": ".types td",
        "#/esim": ".find",
        "#/runs": ".runs td",
        "#/endpoints": ".deliveries td",
        [hashOf("event", { source: event?.source ?? "", id: event?.id ?? "" })]: ".steps",
        [hashOf("esim", { subject: event?.subject ?? "" })]: ".timeline",
        "#/events?state=dead&type=none": ".empty",
      };
      await page.evaluate(axe.source);
      const check = async (what: string) => {
        const found = (await page.evaluate("axe.run()")) as axe.AxeResults;
        expect(
          found.violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]),
          what,
        ).toEqual([]);
        expect(found.passes.length, what).toBeGreaterThan(15);
        expect(await page.evaluate("document.documentElement.scrollWidth"), what).toBe(width);
        expect(await page.evaluate(hidesOfNavigation), what).toBe(0);
      };
      for (const [hash, mark] of Object.entries(marks)) {
        await open(page, hash);
        await page.locator(mark).last().waitFor();
        await expect.poll(() => page.locator("[aria-busy=true]").count()).toBe(0);
        await check(hash);
      }
      await open(page, "#/events?state=dead&type=package.ended");
      await page.locator(".events td").first().waitFor();
      await expect.poll(() => page.locator("[aria-busy=true]").count()).toBe(0);
      await page.locator(".menu > summary").first().click();
      await check("a menu");
      await page.keyboard.press("Escape");
      await button(page, "Retry all…").click();
      await page.getByRole("dialog").waitFor();
      await check("a dialog");
      await button(page, /^Retry \d+$/).click();
      await page.getByRole("region", { name: "The last retry" }).waitFor();
      await check("the progress of a retry");
      expect(errors).toEqual([]);
    },
  );
});

/** How much wider the navigation is than what is seen of it. */
const hidesOfNavigation =
  "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.views'))";
const liveColor = "getComputedStyle(document.querySelector('.live-state')).color";

/** Presses Tab until an element with this text has the focus. */
async function tabTo(page: Page, selector: string, text: string, key = "Tab"): Promise<void> {
  const focus = `(() => {
    const focused = document.activeElement;
    const label = focused.closest("label");
    return focused.matches(${JSON.stringify(selector)}) && (label ?? focused).textContent.includes(${JSON.stringify(text)});
  })()`;
  for (let pressed = 0; pressed < 200; pressed += 1) {
    if (await page.evaluate(focus)) return;
    await page.keyboard.press(key);
  }
  throw new Error(`No ${selector} with "${text}" gets the focus.`);
}

async function focused(page: Page, selector: string): Promise<void> {
  await page.locator(`${selector}:focus`).waitFor();
}

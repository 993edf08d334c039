import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type HandlerContext, nodeHandler } from "@esim-webhooks/core";
import { type Sandbox, startSandbox } from "@esim-webhooks/sandbox";
import axe from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { chromiumPath } from "../../../test/servers/chromium.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";
import { registerOverApi } from "./register-over-api.ts";

expectWarnings("invalid", "no_matching_key");

let browser: Browser;
beforeAll(async () => {
  browser = await chromium.launch({ executablePath: chromiumPath() });
});
afterAll(() => browser.close());

interface Opened {
  readonly page: Page;
  readonly sandbox: Sandbox;
  /** What the browser refused, and what the page's scripts threw. */
  readonly errors: readonly string[];
}

/** The page of a new sandbox, whose clock stands still. */
async function open(options: BrowserContextOptions = {}): Promise<Opened> {
  const sandbox = await startSandbox({ clock: "manual" });
  onTestFinished(() => sandbox.close());
  const page = await browser.newPage(options);
  page.setDefaultTimeout(120_000);
  onTestFinished(() => page.close());
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  await page.goto(sandbox.controlUrl);
  await page.getByText("Connected").waitFor();
  return { page, sandbox, errors };
}

/** A receiver that the page's form registers for every event. Returns the types of the events that it has handled. */
async function register(
  page: Page,
  handle: (context: HandlerContext) => unknown = () => {},
): Promise<readonly string[]> {
  const handled: string[] = [];
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  await page.getByLabel("URL").fill(`http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`);
  await press(page, "Register for every event");
  const endpoint = await page.locator("#endpoints li").textContent();
  const secret = /whsec_[\w+/]{43}=/.exec(endpoint ?? "")?.[0] ?? "";
  const handler = nodeHandler(
    { "*": ({ type }, context) => handle(context) ?? void handled.push(type) },
    { secret },
  );
  server.on("request", handler);
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
    await handler.close();
  });
  return handled;
}

const button = (page: Page, name: string): Locator => page.getByRole("button", { name, exact: true });
const press = (page: Page, name: string) => button(page, name).click();
const said = (page: Page, text: string) => page.locator("#said", { hasText: text }).waitFor();
const esim = (page: Page, text: string | RegExp) => page.locator("#esims li", { hasText: text }).waitFor();
const delivery = (page: Page, text: string): Locator => page.locator("#deliveries li", { hasText: text });

const colour = (page: Page, selector: string, of: "borderColor" | "backgroundColor"): Promise<string> =>
  page.evaluate(`getComputedStyle(document.querySelector('${selector}')).${of}`);

async function edges(of: Locator): Promise<{ readonly top: number; readonly bottom: number }> {
  const { y, height } = (await of.boundingBox()) ?? { y: NaN, height: NaN };
  return { top: y, bottom: y + height };
}

describe("the page", () => {
  it("orders an eSIM by its button, and shows that a receiver has taken its event", async () => {
    const { page, errors } = await open();
    const handled = await register(page);
    await press(page, "Order an eSIM");
    await said(page, "Order an eSIM: done.");
    await esim(page, "released");
    const assigned = delivery(page, "esim.assigned").filter({ hasText: "delivered" });
    await assigned.locator("summary").click();
    await assigned.getByText('{"outcome":"processed"}').waitFor();
    expect(handled).toEqual(["esim.assigned"]);
    expect(errors).toEqual([]);
  });

  it("does what its other buttons say, and shows what has become of the eSIM", async () => {
    const { page, errors } = await open();
    const handled = await register(page);
    await press(page, "Order an eSIM");
    const steps: readonly (readonly [name: string, shown: string | RegExp])[] = [
      ["Report the fault", "released"],
      ["Request the port-in", "31612345678 requested"],
      ["Approve", "31612345678 approved"],
      ["Download", "downloaded"],
      ["Install", "installed"],
      ["Enable", "enabled"],
      ["Move to this network", "NL 204-"],
      ["Finish", "31612345678 completed"],
      ["Credit", "5.00 EUR"],
      ["Debit", "0.00 EUR"],
      ["Order the package", "PLAN-1GB-30D"],
      ["Suspend", "suspended"],
      ["Reactivate", "active"],
      ["Disable", "disabled"],
      ["Delete", "deleted"],
      ["Terminate", "terminated"],
    ];
    for (const [name, shown] of steps) {
      await press(page, name);
      await said(page, `${name}: done.`);
      await esim(page, shown);
    }
    const all = ["esim.faulted", "esim.mccswitch", "package.ended", "esim.lifecycle.terminated"];
    await expect.poll(() => handled).toEqual(expect.arrayContaining(all));
    await press(page, "Reactivate");
    await said(page, "Reactivate failed: The eSIM is terminated");
    expect(errors.filter((error) => !error.includes("409"))).toEqual([]);
  });

  it("chooses a new eSIM, but not while the focus is in the forms of the chosen one", async () => {
    const { page, sandbox } = await open();
    const chosen = (esimReference: string) =>
      page.locator("#chosen-esim", { hasText: esimReference }).waitFor();
    const first = await sandbox.orderEsim();
    await chosen(first.esimReference);
    await press(page, "Order an eSIM");
    await page.locator("#esims li").nth(1).waitFor();
    await chosen(await page.locator("#esims input").first().inputValue());
    const third = await sandbox.orderEsim();
    await chosen(third.esimReference);
    await press(page, "Download");
    await sandbox.orderEsim();
    await page.locator("#esims li").nth(3).waitFor();
    await chosen(third.esimReference);
  });

  it("shows each attempt at a delivery with its time, and the error of the connection", async () => {
    const { page } = await open();
    await page.getByLabel("URL").fill("http://127.0.0.1:9/webhooks");
    await press(page, "Register for every event");
    await page.locator("#endpoints li").waitFor();
    await press(page, "Order an eSIM");
    await delivery(page, "esim.assigned").filter({ hasText: "connect ECONNREFUSED" }).waitFor();
    await press(page, "Advance the clock");
    const attempts = page.getByRole("list", { name: "Attempts" }).getByRole("listitem");
    await attempts.nth(1).waitFor();
    const attempt = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d: connect ECONNREFUSED 127\.0\.0\.1:9, after \d+ ms$/;
    expect(await attempts.allTextContents()).toEqual(
      [attempt, attempt].map((text) => expect.stringMatching(text)),
    );
  });

  it("makes a failure look other than a success, and Delete and Terminate other than other buttons", async () => {
    const { page } = await open();
    await press(page, "Order an eSIM");
    await said(page, "Order an eSIM: done.");
    const ofSuccess = await colour(page, "#said", "borderColor");
    await press(page, "Approve");
    await said(page, "Approve failed: ");
    expect(await colour(page, "#said", "borderColor")).not.toBe(ofSuccess);
    const selectors = ['[data-call$="/deleted"]', "[value=terminate]", "[value=suspend]"];
    const colours = await Promise.all(selectors.map((each) => colour(page, each, "backgroundColor")));
    expect(colours[0]).toBe(colours[1]);
    expect(colours[0]).not.toBe(colours[2]);
  });

  it("has deliveries as high as a wide screen, in view wherever it is scrolled, and before the controls on a narrow one", async () => {
    const { page, sandbox } = await open({ viewport: { width: 1280, height: 800 } });
    await register(page);
    for (let ordered = 0; ordered < 10; ordered++) await sandbox.orderEsim();
    await page.locator("#deliveries li").nth(9).waitFor();
    await page.evaluate("scrollTo(0, document.body.scrollHeight)");
    const deliveries = page.locator("section", { has: page.locator("#deliveries") });
    const { bottom, top } = await edges(deliveries);
    expect(top).toBeGreaterThan(0);
    expect(bottom).toBeGreaterThan(750);
    expect(bottom).toBeLessThanOrEqual(800);
    await page.setViewportSize({ width: 400, height: 800 });
    expect((await edges(deliveries)).bottom).toBeLessThan((await edges(page.locator("#chosen"))).top);
  });

  it("can be used with the keyboard alone", async () => {
    const { page } = await open();
    await page.keyboard.press("Tab");
    await expect.poll(() => page.evaluate("document.activeElement.textContent")).toBe("Order an eSIM");
    await page.keyboard.press("Enter");
    await esim(page, "released");
    await press(page, "Order an eSIM");
    await page.locator("#esims li").nth(1).waitFor();
    await page.locator("#esims input").first().focus();
    await page.keyboard.press("ArrowDown");
    await page.locator("#chosen-esim", { hasText: await oldestEsim(page) }).waitFor();
  });

  it("tries again what has failed when the clock is advanced, and replays and dumps it", async () => {
    const { page } = await open();
    let calls = 0;
    const handled = await register(page, (context) => (calls++ === 0 ? context.retryLater() : undefined));
    await press(page, "Order an eSIM");
    await delivery(page, "failed").filter({ hasText: "503" }).waitFor();
    await press(page, "Advance the clock");
    await delivery(page, "delivered").filter({ hasText: "Attempts2" }).waitFor();
    await press(page, "Replay");
    await page.locator("#deliveries li").nth(1).waitFor();
    expect(handled).toEqual(["esim.assigned"]);
    const [download] = await Promise.all([page.waitForEvent("download"), press(page, "Dump")]);
    const lines = (await readFile(await download.path(), "utf8")).trim().split("\n");
    expect(lines.map((line) => JSON.parse(line).eventType)).toEqual(["esim.assigned", "esim.assigned"]);
  });

  it("sets an endpoint inactive, which then gets nothing, and active again", async () => {
    const { page } = await open();
    const handled = await register(page);
    await press(page, "Set inactive");
    await page.locator("#endpoints", { hasText: "inactive" }).waitFor();
    await press(page, "Emit the event");
    await said(page, "Emit the event: done.");
    await press(page, "Set active");
    await button(page, "Set inactive").waitFor();
    await press(page, "Order an eSIM");
    await delivery(page, "delivered").waitFor();
    expect(handled).toEqual(["esim.assigned"]);
  });

  it("refuses to register a URL twice, and says of endpoints at one URL that events arrive twice", async () => {
    const { page, sandbox } = await open();
    await register(page);
    await press(page, "Register for every event");
    await said(page, "gets events of these types at this URL already, and each would arrive twice.");
    await registerOverApi(sandbox, {
      url: await page.getByLabel("URL").inputValue(),
      eventTypes: ["esim.assigned"],
    });
    await page
      .locator("#endpoints li", { hasText: "has the same URL: events arrive twice." })
      .nth(1)
      .waitFor();
    await button(page, "Set inactive").first().click();
    await page.getByText("events arrive twice").first().waitFor({ state: "hidden" });
  });

  it("adds a fault, shows it until it strikes, and clears the others", async () => {
    const { page } = await open();
    await register(page);
    await page.getByLabel("Kind").selectOption("wrong_signature");
    await press(page, "Add the fault");
    await page.getByText("To strike: wrong_signature 1×.").waitFor();
    await press(page, "Order an eSIM");
    await delivery(page, "failed").filter({ hasText: "401" }).waitFor();
    await page.getByLabel("Kind").selectOption("drop_answer");
    await page.getByLabel("Only this call").fill("POST /esims");
    await press(page, "Add the fault");
    await page.getByText("To strike: drop_answer POST /esims 1×.").waitFor();
    await press(page, "Clear all faults");
    await page.getByText("No fault waits to strike.").waitFor();
  });

  it("shows a hostile event, and a hostile answer, as the text that they are", async () => {
    const { page, errors } = await open();
    const hostile = `<img src=x onerror="document.title='hacked'"><script>document.title='hacked'</script>`;
    await register(page);
    await page.getByLabel("Data").fill(JSON.stringify({ [hostile]: hostile }));
    await press(page, "Emit the event");
    await page.locator("#deliveries summary").click();
    await page.getByText("<img src=x onerror=").first().waitFor();
    expect(await page.evaluate("document.images.length + document.scripts.length")).toBe(1); // its own script
    expect(await page.title()).toBe("eSIM sandbox");
    const markup = page.evaluate("document.body.innerHTML = '<b>text that becomes markup</b>'");
    await expect(markup).rejects.toThrow(/TrustedHTML/);
    expect(errors.join()).not.toContain("hacked");
  });

  it.each([
    ["in the light", { colorScheme: "light", viewport: { width: 1280, height: 800 } }],
    ["in the dark", { colorScheme: "dark", viewport: { width: 1280, height: 800 } }],
    ["on a phone", { colorScheme: "light", viewport: { width: 320, height: 640 } }],
  ] as const)("is accessible %s, and never wider than the screen", async (_name, options) => {
    const { page, sandbox } = await open(options);
    await register(page);
    await registerOverApi(sandbox, {
      url: await page.getByLabel("URL").inputValue(),
      eventTypes: ["esim.faulted"],
    });
    await page.getByText("events arrive twice").first().waitFor();
    await press(page, "Order an eSIM");
    await delivery(page, "delivered").locator("summary").click();
    await page.evaluate(axe.source);
    const found = (await page.evaluate("axe.run()")) as axe.AxeResults;
    expect(found.violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)])).toEqual([]);
    expect(found.passes.length).toBeGreaterThan(20);
    const width = await page.evaluate("document.documentElement.scrollWidth");
    expect(width).toBe(options.viewport.width);
  });

  it("says that the sandbox is away", async () => {
    const { page, sandbox } = await open();
    await sandbox.close();
    await page.getByText("The sandbox does not answer.").waitFor();
  });
});

async function oldestEsim(page: Page): Promise<string> {
  return (await page.locator("#esims li input").last().inputValue()) ?? "";
}

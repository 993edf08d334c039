// Takes docs/images/dashboard/*.png of each view, light and dark, with the events of demo-dashboard.ts, and pictures of a narrow screen:
// node --conditions=@esim-webhooks/source packages/dashboard/test/page-screenshots.ts
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { chromiumPath } from "../../../test/servers/chromium.ts";
import { inbox } from "./demo-dashboard.ts";
import { smallPng } from "./small-png.ts";

const base = "http://127.0.0.1:4400/";
const root = join(import.meta.dirname, "../../..");
/** The widths in pixels, each with the folder of its pictures. Those of a narrow screen are only looked at. */
const folders = [
  [1280, join(root, "docs/images/dashboard")],
  [360, join(root, "node_modules/.cache/esim-webhooks/dashboard-360")],
] as const;

type Prepare = (page: Page) => Promise<unknown>;

/** The name of each view, its address, and what is done before its picture is taken. */
const views: readonly (readonly [name: string, address: string, prepare?: Prepare])[] = [
  ["now", "#/now"],
  ["events", "#/events?state=dead"],
  ["event", "#/events?state=dead&type=esim.balance.updated&error=fetch", openSecond],
  ["retry", "#/events?state=dead&type=esim.faulted", askToRetry],
  ["types", "#/types"],
  ["esim", "#/events?state=dead", openEsim],
  ["runs", "#/runs"],
  ["endpoints", "#/endpoints"],
  ["progress", "#/events?state=dead", retryAndWork],
];

async function openSecond(page: Page): Promise<void> {
  await page.locator("[data-row]").nth(1).click();
  await page.getByText("Why it is dead").waitFor();
}

async function openEsim(page: Page): Promise<void> {
  await openSecond(page);
  await page.locator(".facts a[href^='#/esim']").click();
  await page.locator(".timeline li").first().waitFor();
}

async function askToRetry(page: Page): Promise<void> {
  await page.getByText("Retry all…").click();
  await page.getByRole("dialog").waitFor();
}

/** A type for each picture of a retry, since its events are no longer dead afterwards. */
const retriedTypes = ["esim.enabled", "esim.installed", "esim.mccswitch", "package.ended"];

/** Retries the events of a type. Some are done, and some are dead again. */
async function retryAndWork(page: Page): Promise<void> {
  const type = retriedTypes.pop() ?? "";
  const { rows } = await inbox.list({ state: "dead", types: [type] }, { limit: 100 });
  const ids = new Set(rows.map(({ id }) => id));
  await page.goto(`${base}#/events?state=dead&type=${type}`);
  await page.getByText("Retry all…").and(page.locator(":enabled")).waitFor();
  await askToRetry(page);
  await page.getByRole("button", { name: /^Retry \d+$/ }).click();
  await page.getByText("Show all", { exact: true }).first().click();
  const taken = await inbox.take({ limit: 500, leaseMs: 1000 });
  await inbox.settle(
    taken
      .filter(({ id }) => ids.has(id))
      .slice(0, 20)
      .map(({ source, id, token }, index) => {
        const lease = { source, id, token };
        return index % 7 === 0
          ? { ...lease, state: "dead", error: "Error: CRM answered 422" }
          : { ...lease, state: "done" };
      }),
  );
  await page
    .getByText(/dead again/)
    .first()
    .waitFor();
}

// grey edges of letters: coloured ones double the size of a picture
const browser = await chromium.launch({ executablePath: chromiumPath(), args: ["--disable-lcd-text"] });
for (const [width, folder] of folders) {
  mkdirSync(folder, { recursive: true });
  for (const colorScheme of ["light", "dark"] as const) {
    for (const [name, address, prepare] of views) {
      const page = await browser.newPage({ colorScheme, viewport: { width, height: 750 } });
      await page.goto(base + address);
      await page.locator("h1").waitFor();
      await page.waitForLoadState("networkidle");
      await prepare?.(page);
      await page.waitForLoadState("networkidle");
      // all of the page, and a side panel as high as it
      const height = Number(await page.evaluate("document.documentElement.scrollHeight"));
      if (!(await page.locator("dialog[open]").isVisible())) await page.setViewportSize({ width, height });
      const picture = await page.screenshot({ animations: "disabled" });
      writeFileSync(join(folder, `${name}-${colorScheme}.png`), smallPng(picture));
      await page.close();
    }
  }
  console.log(folder);
}
await browser.close();
process.exit();

// Takes docs/images/dashboard/*.png of each view, light and dark, with the events of demo-dashboard.ts:
// node --conditions=@esim-webhooks/source packages/dashboard/test/page-screenshots.ts
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { chromiumPath } from "../../../test/servers/chromium.ts";
import "./demo-dashboard.ts";
import { smallPng } from "./small-png.ts";

const base = "http://127.0.0.1:4400/";
const folder = join(import.meta.dirname, "../../../docs/images/dashboard");

/** The name of each view, its address, and what is done before its picture is taken. */
const views: readonly (readonly [
  name: string,
  address: string,
  prepare?: (page: Page) => Promise<unknown>,
])[] = [
  ["now", "#/now"],
  ["events", "#/events?state=dead"],
  ["event", "#/events?state=dead&type=esim.balance.updated", openSecond],
  ["retry", "#/events?state=dead&type=esim.faulted", (page) => page.getByText("Retry all…").click()],
  ["types", "#/types"],
  ["esim", "#/events?state=dead", openEsim],
  ["runs", "#/runs"],
  ["endpoints", "#/endpoints"],
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

mkdirSync(folder, { recursive: true });
// grey edges of letters: coloured ones double the size of a picture
const browser = await chromium.launch({ executablePath: chromiumPath(), args: ["--disable-lcd-text"] });
for (const colorScheme of ["light", "dark"] as const) {
  const page = await browser.newPage({ colorScheme, viewport: { width: 1200, height: 750 } });
  for (const [name, address, prepare] of views) {
    await page.goto(base);
    await page.goto(base + address);
    await page.locator("h1").waitFor();
    await page.waitForLoadState("networkidle");
    await prepare?.(page);
    await page.waitForLoadState("networkidle");
    const picture = await page.screenshot({ animations: "disabled" });
    writeFileSync(join(folder, `${name}-${colorScheme}.png`), smallPng(picture));
  }
  await page.close();
}
await browser.close();
process.exit();

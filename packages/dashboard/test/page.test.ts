import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { dashboardAssets } from "../../../scripts/docs/dashboard-page.ts";

const folder = join(import.meta.dirname, "../assets");
const assets = await dashboardAssets();

it.each([...assets.keys()])("assets/%s is what npm run docs makes of the page's sources", (name) => {
  expect(readFileSync(join(folder, name), "utf8") === assets.get(name), "run npm run docs").toBe(true);
});

it("the page is at most 61 kB compressed, and names no other host", () => {
  const loaded = [...assets].filter(([name]) => /\.(?:js|css)$/.test(name));
  expect(loaded).toHaveLength(2);
  expect(loaded.reduce((sum, [, text]) => sum + gzipSync(text).length, 0)).toBeLessThanOrEqual(61_000);
  const hosts = loaded.flatMap(([, text]) => text.match(/(?:https?:)?\/\/[\w-]+\.[\w./-]+/g) ?? []);
  const namespaces = [
    "http://www.w3.org/2000/svg",
    "http://www.w3.org/1999/xhtml",
    "http://www.w3.org/1998/Math/MathML",
  ];
  expect(hosts.filter((host) => !namespaces.includes(host))).toEqual([]);
});

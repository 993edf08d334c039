import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { root } from "./run.ts";

const kilobyte = 1000;

/** The bytes of a bundle with what is named, minified and gzipped. */
async function bundleBytes(name: string, from: string, external: readonly string[]): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: `export { ${name} } from "@esim-webhooks/${from}";`, resolveDir: root },
    conditions: ["@esim-webhooks/source"],
    external: [...external],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    write: false,
  });
  return gzipSync(outputFiles[0]?.contents ?? "").byteLength;
}

it.each([
  ["webhookHandler", "core", 36.6],
  ["createWorker", "core", 24.9],
  ["verify", "core", 5.8],
  ["webhookRouter", "express", 37.7],
  ["lambdaHandler", "lambda", 36.7],
  ["redisStore", "store-redis", 17.3],
  ["durableObjectStore", "cloudflare", 11.3],
  ["createClient", "client", 24.6],
])("%s of %s is at most %s kB in a bundle, minified and gzipped", async (name, from, limitKilobytes) => {
  const bytes = await bundleBytes(name, from, ["ioredis"]);
  expect(bytes).toBeGreaterThan(kilobyte); // it is there
  expect(bytes).toBeLessThan(limitKilobytes * kilobyte);
});

it("createClient is at most 15.5 kB beside zod", async () => {
  expect(await bundleBytes("createClient", "client", ["zod/*"])).toBeLessThan(15.5 * kilobyte);
});

it("what is not used of a package is not in the bundle: the key of an effect is less than 1 kB", async () => {
  expect(await bundleBytes("idempotencyKeyOf", "core", [])).toBeLessThan(kilobyte);
});

import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { root } from "./run.ts";

const kilobyte = 1000;

it.each([
  ["webhookHandler", "core", 28],
  ["createWorker", "core", 19],
  ["verify", "core", 5],
  ["webhookRouter", "express", 29],
  ["redisStore", "store-redis", 15],
])("%s of %s is at most %d kB in a bundle, minified and gzipped", async (name, from, limitKilobytes) => {
  const { outputFiles } = await build({
    stdin: { contents: `export { ${name} } from "@esim-webhooks/${from}";`, resolveDir: root },
    conditions: ["@esim-webhooks/source"],
    external: ["ioredis"],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    write: false,
  });
  const bytes = gzipSync(outputFiles[0]?.contents ?? "").byteLength;
  expect(bytes).toBeGreaterThan(kilobyte); // it is there
  expect(bytes).toBeLessThan(limitKilobytes * kilobyte);
});

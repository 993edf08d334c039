// node cold-start.mjs <bundle>: one cold start, as Lambda's own runtime does it: loads the function, and invokes it with the events of its input.
import { readFileSync } from "node:fs";

const [, , bundle] = process.argv;
const [first, ...others] = JSON.parse(readFileSync(0, "utf8"));
const context = { getRemainingTimeInMillis: () => 30_000 };

const startedAt = performance.now();
const before = process.cpuUsage();
const { handler } = await import(bundle);
const { statusCode } = await handler(first, context);
const firstMs = performance.now() - startedAt;
const { user, system } = process.cpuUsage(before);
const { rss } = process.memoryUsage();
const times = [];
for (const event of others) {
  const askedAt = performance.now();
  await handler(event, context);
  times.push(performance.now() - askedAt);
}
process.stdout.write(
  JSON.stringify({
    statusCode,
    firstMs,
    cpuMs: (user + system) / 1000,
    rss,
    laterMs: times.sort((a, b) => a - b)[times.length >> 1],
  }),
);
process.exit(); // a client may keep its connections

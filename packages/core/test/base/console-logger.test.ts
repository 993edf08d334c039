import { consoleLogger, createReceiver } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { signedDelivery } from "../../../../test/support/signed-delivery.ts";

const lines: string[] = [];

beforeEach(() => {
  lines.length = 0;
  vi.stubEnv("FORCE_COLOR", "0");
  for (const level of ["debug", "info", "warn", "error"] as const)
    vi.spyOn(console, level).mockImplementation(
      (...line) => void lines.push(`${level}: ${line.join(" | ")}`),
    );
});

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** The lines without the time of day, which is that of the machine. */
const untimed = () => lines.map((line) => line.replace(/\d\d:\d\d:\d\d {2}/, ""));

it("prints one line for each event: what became of it, its type and id, and what its handler logs", async () => {
  const secret = newSecret();
  const receiver = createReceiver(
    {
      "esim.enabled": (_, { logger }) => logger.info({ order: 7 }, "shipped"),
      "esim.faulted": () => {
        throw new Error("no order", { cause: new Error("the shop is closed") });
      },
    },
    { secret, logger: consoleLogger() },
  );
  for (const type of ["esim.enabled", "esim.faulted"] as const) {
    const { method, headers, body } = signedDelivery(secret, { id: `msg_${type}`, type });
    await receiver.receive({ method, headers, body: Buffer.from(body) });
  }
  expect(untimed()).toEqual([
    expect.stringMatching(/^info: ✔ shipped +esim\.enabled {2}msg_esim\.enabled {2}.*order 7/),
    expect.stringMatching(
      /^info: ✔ processed +esim\.enabled {2}msg_esim\.enabled {2}key:[0-9a-f]{8} {2}\d+ ms$/,
    ),
    expect.stringMatching(
      /^error: ✘ failed +esim\.faulted {2}msg_esim\.faulted .* no order\n {6}at .*\n(?: {6}at .*\n)* {4}cause: the shop is closed\n/,
    ),
  ]);
});

it("prints the text of a line that has a field which cannot be text, and no debug lines", () => {
  const circle: Record<string, unknown> = {};
  circle["itself"] = circle;
  const logger = consoleLogger();
  logger.debug({}, "unheard");
  logger.warn({ circle }, "careful");
  expect(untimed()).toEqual(["warn: ! careful"]);
});

it("prints an error that is passed in place of the fields, as pino does", () => {
  consoleLogger().error(new Error("the shop is closed") as never, "no order");
  expect(untimed()).toEqual([expect.stringMatching(/^error: ✘ no order +the shop is closed\n {6}at /)]);
});

it("colours the lines of the stream that is a terminal, and leaves those of a file as they are", () => {
  vi.stubEnv("FORCE_COLOR", undefined);
  vi.stubEnv("NO_COLOR", undefined);
  for (const terminal of ["stdout", "stderr"] as const) {
    lines.length = 0;
    for (const stream of ["stdout", "stderr"] as const)
      vi.spyOn(process, stream, "get").mockReturnValue({ isTTY: stream === terminal } as never);
    const logger = consoleLogger();
    logger.info({}, "ready");
    logger.error({}, "broken");
    const coloured = lines.filter((line) => line.includes("\u001b["));
    expect(coloured).toEqual([expect.stringContaining(terminal === "stdout" ? "ready" : "broken")]);
  }
});

it("has no colours on a terminal where NO_COLOR is set", () => {
  vi.stubEnv("FORCE_COLOR", undefined);
  vi.stubEnv("NO_COLOR", "1");
  vi.spyOn(process, "stderr", "get").mockReturnValue({ isTTY: true } as never);
  consoleLogger().error({}, "broken");
  expect(lines).toEqual([expect.not.stringContaining("\u001b[")]);
});

it("colours its lines as FORCE_COLOR says", () => {
  vi.stubEnv("FORCE_COLOR", "1");
  consoleLogger().error({}, "broken");
  expect(lines).toEqual([expect.stringContaining("\u001b[31m✘ broken        \u001b[39m")]);
});

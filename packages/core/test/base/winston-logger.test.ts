import { Writable } from "node:stream";
import { createReceiver, type Logger, winstonLogger } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";
import { describe, expect, it } from "vitest";
import winston from "winston";
import { signedDelivery } from "../../../../test/support/signed-delivery.ts";
import { loggerOption, parseOptions } from "../../src/base/options.ts";
import { warnOfSetup } from "../../src/base/safe-logger.ts";

/** A logger of winston, and its entries. */
function winstonWith(options: winston.LoggerOptions = {}) {
  const entries: Record<string, unknown>[] = [];
  const stream = new Writable({
    write(line, _encoding, done) {
      entries.push(JSON.parse(String(line)));
      done();
    },
  });
  const transports = [new winston.transports.Stream({ stream })];
  const logger = winston.createLogger({
    level: "debug",
    format: winston.format.json(),
    transports,
    ...options,
  });
  return { logger, entries };
}

/** A logger of another type, as JavaScript passes it. */
const untyped = (logger: unknown): Logger => logger as Logger;

describe("a logger of winston", () => {
  it("gets the text, the fields and the error of a line", () => {
    const { logger, entries } = winstonWith();
    const adapted = winstonLogger(logger);
    const cause = new Error("the shop is closed");
    const err = Object.assign(new Error("no order", { cause }), { code: "no_order", status: 503 });
    adapted.error({ id: "msg_1", err }, "The handler failed.");
    adapted.warn({ level: "of a field", message: "of a field" }, "careful");
    adapted.info({}, "ready");
    adapted.debug({}, "detail");
    expect(entries).toEqual([
      {
        level: "error",
        message: "The handler failed.",
        id: "msg_1",
        err: {
          cause: { message: "the shop is closed", stack: expect.any(String) },
          code: "no_order",
          status: 503,
          message: "no order",
          stack: expect.stringMatching(/^Error: no order\n {4}at .*winston-logger/),
        },
      },
      { level: "warn", message: "careful" },
      { level: "info", message: "ready" },
      { level: "debug", message: "detail" },
    ]);
  });

  it("has children that keep their fields", () => {
    const { logger, entries } = winstonWith();
    winstonLogger(logger)
      .child?.({ id: "msg_1" })
      .child?.({ type: "esim.enabled" })
      .info({ step: 1 }, "heard");
    expect(entries).toEqual([
      { level: "info", message: "heard", id: "msg_1", type: "esim.enabled", step: 1 },
    ]);
  });

  it("with the levels of syslog gets warnings", () => {
    const { logger, entries } = winstonWith({ levels: winston.config.syslog.levels });
    winstonLogger(logger).warn({}, "careful");
    expect(entries).toEqual([{ level: "warning", message: "careful" }]);
  });

  it.each<[string, (logger: winston.Logger) => unknown, winston.LoggerOptions?]>([
    ["itself", (logger) => logger],
    ["a child", (logger) => logger.child({ app: "shop" })],
    ["with the levels of syslog", (logger) => logger, { levels: winston.config.syslog.levels }],
    ["the module", ({ transports }) => winston.clear().add(transports[0] as winston.transport) && winston],
  ])("is adapted without winstonLogger where a program passes it: %s", async (_, passed, options) => {
    const { logger, entries } = winstonWith(options);
    const secret = newSecret();
    const given = untyped(passed(logger));
    const receiver = createReceiver({ "*": () => {} }, { secret, logger: given });
    const { method, headers, body } = signedDelivery(secret, { type: "esim.enabled" });
    await receiver.receive({ method, headers, body: Buffer.from(body) });
    warnOfSetup(given, "reply_not_written", "A mistake.");
    const { logger: parsed } = parseOptions("a store", { logger: loggerOption }, { logger: given });
    parsed.warn({}, "careful");
    expect(entries.map(({ message }) => message)).toEqual(["webhook delivery", "A mistake.", "careful"]);
  });
});

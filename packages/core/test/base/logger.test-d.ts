import {
  consoleLogger,
  createReceiver,
  type Logger,
  type WinstonLogger,
  winstonLogger,
} from "@esim-webhooks/core";
import pino from "pino";
import { expectTypeOf, it } from "vitest";
import winston from "winston";

it("a logger of winston is one only with its adapter", () => {
  const logger = winston.createLogger();
  // @ts-expect-error its functions take the text first
  const direct: Logger = logger;
  expectTypeOf(direct).toExtend<Logger>();
  expectTypeOf<typeof winston>().not.toExtend<Logger>();
  expectTypeOf(winston).toExtend<WinstonLogger>();
  expectTypeOf(winstonLogger(logger)).toEqualTypeOf<Logger>();
  expectTypeOf(winstonLogger(logger.child({}))).toEqualTypeOf<Logger>();
});

it("pino() is one where it is passed", () => {
  createReceiver({}, { logger: pino() });
  const logger: Logger = pino({ level: "debug" });
  expectTypeOf(logger).toExtend<Logger>();
});

it("the console and consoleLogger are loggers", () => {
  expectTypeOf(console).toExtend<Logger>();
  expectTypeOf(consoleLogger()).toEqualTypeOf<Logger>();
});

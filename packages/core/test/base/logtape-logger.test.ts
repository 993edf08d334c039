import type { Logger } from "@esim-webhooks/core";
import { expect, it } from "vitest";
import { loggerOption, parseOptions } from "../../src/base/options.ts";
import { warnOfSetup } from "../../src/base/safe-logger.ts";

type Line = readonly [level: string, text: unknown, fields: unknown];

/** A logger of the structure of LogTape's: the text first, and `{name}` in it stands for a property. */
function logTape(lines: Line[], bindings = {}) {
  const at = (level: string) => (text: unknown, fields: object) =>
    void lines.push([level, text, { ...bindings, ...fields }]);
  return {
    category: ["shop"],
    getChild() {},
    with: (more: object) => logTape(lines, { ...bindings, ...more }),
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    warning: at("warning"),
    error: at("error"),
  };
}

it("a logger of LogTape gets the text and the fields of each line, also by its children", () => {
  const lines: Line[] = [];
  const given = logTape(lines) as unknown as Logger;
  const { logger } = parseOptions("a store", { logger: loggerOption }, { logger: given });
  const err = new Error("no order");
  logger.error({ id: "msg_1", err }, "The handler failed.");
  logger.warn({}, "careful");
  logger.child?.({ id: "msg_2" }).info({ step: 1 }, "order {id}");
  logger.debug({}, "detail");
  warnOfSetup(given, "reply_not_written", "A mistake.");
  expect(lines).toEqual([
    ["error", "The handler failed.", { id: "msg_1", err }],
    ["warning", "careful", {}],
    ["info", "order {{id}}", { id: "msg_2", step: 1 }],
    ["debug", "detail", {}],
    ["error", "A mistake.", { code: "reply_not_written" }],
  ]);
});

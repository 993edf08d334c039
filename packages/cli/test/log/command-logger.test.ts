import { WebhookError } from "@esim-webhooks/core";
import { describe, expect, it } from "vitest";
import { commandLogger } from "../../src/log/command-logger.ts";

const imei = "490154203237518";

function logged(json: boolean) {
  const lines: string[] = [];
  const logger = commandLogger({ write: (line) => lines.push(line), json, style: (_style, text) => text });
  return { logger, lines };
}

describe("the logger of the command line", () => {
  it("writes JSON lines with level, msg and err, and masks the error's message", () => {
    const { logger, lines } = logged(true);
    const err = Object.assign(new Error(`no order for ${imei}`), { code: "no_order" });
    logger.error({ id: "msg_1", err }, "The handler failed.");
    expect(JSON.parse(lines[0] ?? "")).toEqual({
      time: expect.stringMatching(/^\d{4}-/),
      level: "error",
      id: "msg_1",
      err: { code: "no_order", message: "no order for •••", stack: expect.stringMatching(/^at /) },
      msg: "The handler failed.",
    });
  });

  it("shows no secret in any field or message, and its JSON stays JSON", () => {
    for (const json of [true, false]) {
      const { logger, lines } = logged(json);
      const err = Object.assign(new Error("no login at redis://me:hunter2@cache"), {
        code: "password=hunter2",
      });
      const fields = { password: "hunter2", at: { urls: ["redis://me:hunter2@cache"] }, id: "token=hunter2" };
      logger.error({ ...fields, err, issues: ["pwd='hunter2'"] }, "password=hunter2");
      expect(lines).toEqual([expect.not.stringContaining("hunter2")]);
      if (json) expect(JSON.parse(lines[0] ?? "")).toMatchObject({ level: "error", msg: "password=•••" });
    }
  });

  it("writes the beginning of a long error and a long reason", () => {
    const dates = "2026-11-20 ".repeat(90_000);
    for (const json of [true, false]) {
      const { logger, lines } = logged(json);
      const err = new Error(dates, { cause: dates });
      logger.error({ id: "msg_1", reason: dates, cause: dates, err }, "The handler failed.");
      expect(lines[0]?.match(/… \(986,000 more characters\)/g)?.length).toBeGreaterThan(2);
      expect(lines[0]?.length).toBeLessThan(40_000);
    }
  });

  it("writes a line for people: the outcome or the message, the event, and the other fields", () => {
    const { logger, lines } = logged(false);
    logger.info({ source: "default", id: "msg_1", type: "esim.enabled", outcome: "done" }, "event");
    logger.warn({ run: "r1", err: imei }, "A done event is run again.");
    expect(lines.map((line) => line.slice("12:00:00  ".length))).toEqual([
      expect.stringMatching(/^✔ done +esim\.enabled {2}msg_1$/),
      "! A done event is run again.  run r1  •••",
    ]);
  });

  it("shows where an error comes from and what caused it, masked, in both forms", () => {
    const cause = Object.assign(new Error(`refused for ${imei}`), { code: "ECONNREFUSED" });
    const err = new Error("no order", { cause });
    const json = logged(true);
    json.logger.error({ durationMs: 12.4, err }, "The handler failed.");
    expect(JSON.parse(json.lines[0] ?? "")).toMatchObject({
      durationMs: 12.4,
      err: {
        message: "no order",
        stack: expect.stringContaining("command-logger.test.ts"),
        cause: {
          code: "ECONNREFUSED",
          message: "refused for •••",
          stack: expect.stringContaining("command-logger.test.ts"),
        },
      },
    });
    const people = logged(false);
    people.logger.error({ durationMs: 12.4, err }, "The handler failed.");
    const [head = "", call, ...rest] = (people.lines[0] ?? "").split("\n");
    expect(head).toMatch(/✘ The handler failed\. {2}12 ms {2}no order$/);
    expect(call).toMatch(/^ {6}at .*command-logger\.test\.ts:\d+/);
    expect(rest).toContain("    cause: ECONNREFUSED: refused for •••");
  });

  it("shows the cause of an error of this project, and no stack: its message says what to do", () => {
    const { logger, lines } = logged(false);
    const tried = [
      new Error("connect ECONNREFUSED 127.0.0.1:5432"),
      new Error("connect ECONNREFUSED ::1:5432"),
    ];
    const cause = new AggregateError(tried);
    const err = new WebhookError("store_unavailable", "It cannot be reached.", "Start it.", { cause });
    logger.error({ err }, "The inbox did not answer.");
    expect((lines[0] ?? "").split("\n").slice(1)).toEqual(["    cause: connect ECONNREFUSED 127.0.0.1:5432"]);
  });

  it("masks why an event is dead, and says it once", () => {
    const dead = { id: "msg_1", outcome: "dead", reason: "failed", cause: `Error: no order for ${imei}` };
    const json = logged(true);
    json.logger.error(dead, "An event is dead.");
    expect(JSON.parse(json.lines[0] ?? "")).toMatchObject({ ...dead, cause: "Error: no order for •••" });
    const people = logged(false);
    people.logger.error(dead, "An event is dead.");
    people.logger.error({ ...dead, err: new Error("no order") }, "An event is dead.");
    expect(people.lines[0]).toMatch(/✘ dead +msg_1 {2}failed {2}Error: no order for •••$/);
    expect(people.lines[1]?.split("\n")[0]).toMatch(/✘ dead +msg_1 {2}failed {2}no order$/);
  });

  it("adds a child's fields to its lines, and drops debug lines", () => {
    const { logger, lines } = logged(true);
    logger.debug({}, "unheard");
    logger.child?.({ id: "msg_1" }).info({ seen: 1n }, "heard");
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ id: "msg_1", seen: "1", msg: "heard" });
  });

  it("takes a message without fields, as pino does", () => {
    const { logger, lines } = logged(true);
    (logger.info as unknown as (message: string) => void)("ready");
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ level: "info", msg: "ready" });
  });
});

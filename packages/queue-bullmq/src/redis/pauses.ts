import type { Pause } from "@esim-webhooks/core";
import type { NewPause } from "@esim-webhooks/core/engine";
import { monotonicClock } from "@esim-webhooks/core/internal";
import { bullmqScripts } from "./bullmq-scripts.ts";
import type { BullmqQueue } from "./queue.ts";
import { luaNow, type Scripts } from "./script.ts";

/** The pause of a queue: BullMQ's own, and next to it who paused it, when and why. */
export interface Pauses {
  pause(pause: NewPause): Promise<void>;
  /** Ends the pause, and resolves to it. */
  resume(): Promise<Pause | null>;
  /** Resolves to the pause, if any. Ends a pause whose `until` has passed. */
  current(): Promise<Pause | null>;
  /** Ends a pause whose `until` has passed, if this process has not looked in the last ten seconds. Never rejects. */
  endInTime(): Promise<void>;
}

const field = "esim-webhooks.pause";
const againAfterMs = 10_000;
const foreign = { reason: "Paused by another program, such as a dashboard of BullMQ.", by: null };

/** Returns our Lua script, which contains BullMQ's script for pausing and resuming: the pause and our note of it change together. */
function lua(pauseOrResume: string): string {
  return `
local function apply()
${pauseOrResume}
end
${luaNow("ARGV[4]")}
local meta = KEYS[3]
local function resume()
  redis.call("HDEL", meta, "${field}")
  while apply() > 0 do ARGV[2] = "0" end
end
if ARGV[1] == "paused" then
  apply()
  redis.call("HSET", meta, "${field}", string.format("%.0f", now) .. " " .. ARGV[3])
  return nil
end
if redis.call("HEXISTS", meta, "paused") == 0 then -- a dashboard may have resumed it
  if redis.call("HEXISTS", meta, "${field}") == 1 then redis.call("HDEL", meta, "${field}") end
  return nil
end
local note = redis.call("HGET", meta, "${field}")
if not note then
  note = string.format("%.0f", now) .. ' - ${JSON.stringify(foreign)}'
  redis.call("HSET", meta, "${field}", note)
end
local till = tonumber(string.match(note, "^%d+ (%d+) "))
if till and till <= now then
  resume()
  return nil
end
if ARGV[3] == "resume" then resume() end
return note`;
}

/** The texts of BullMQ's script that our script relies on. */
const argumentsOf = ['ARGV[1] == "paused"', 'ARGV[2] ~= "0"', 'rcall("HDEL", KEYS[3], "paused")'];

export function createPauses(queue: BullmqQueue, scripts: Scripts, keyStart: string): Pauses {
  const script = scripts.create("esimWebhooksPause", 7, () =>
    lua(bullmqScripts(queue).get("pause", argumentsOf).lua),
  );
  const keys = ["paused", "wait", "meta", "prioritized", "events", "delayed", "marker"];
  let lookedAt = Number.NEGATIVE_INFINITY;

  async function run(mode: "paused" | "resumed", note: string): Promise<Pause | null> {
    const args = [mode, "1", note, String(Date.now())];
    const answer = await script(
      keys.map((key) => `${keyStart}:${key}`),
      args,
    );
    return typeof answer === "string" ? readNote(answer) : null;
  }

  async function current(): Promise<Pause | null> {
    lookedAt = monotonicClock.now();
    return run("resumed", "look");
  }

  return {
    async pause({ reason, until, by }) {
      await run("paused", `${until === null ? "-" : until.getTime()} ${JSON.stringify({ reason, by })}`);
    },
    resume: () => run("resumed", "resume"),
    current,
    async endInTime() {
      if (monotonicClock.now() - lookedAt >= againAfterMs) await current().catch(() => {});
    },
  };
}

function readNote(note: string): Pause {
  const [, since, until, json = ""] = /^(\d+) (\d+|-) (.*)$/s.exec(note) ?? [];
  const { reason, by } = JSON.parse(json) as Pick<Pause, "reason" | "by">;
  return {
    type: null,
    reason,
    since: new Date(Number(since)),
    until: until === "-" ? null : new Date(Number(until)),
    by,
  };
}

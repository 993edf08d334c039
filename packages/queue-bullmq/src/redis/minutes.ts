import type { Minute, MinuteCounts } from "@esim-webhooks/core";
import { minutesKeptMs } from "@esim-webhooks/core/engine";
import { luaNow, type Scripts } from "./script.ts";

/** The counts of each minute of the last day, in one hash: a field for each minute and count. */
export interface Minutes {
  add(counts: MinuteCounts): Promise<void>;
  list(): Promise<readonly Minute[]>;
}

const names = ["stored", "done", "retried", "dead"] as const satisfies readonly (keyof MinuteCounts)[];

const addLua = `
${luaNow("ARGV[2]")}
local kept = tonumber(ARGV[1])
local minute = now - now % 60000
local start = string.format("%.0f", minute) .. ":"
local isNew = redis.call("HEXISTS", KEYS[1], start .. ARGV[3]) == 0
for at = 3, #ARGV, 2 do redis.call("HINCRBY", KEYS[1], start .. ARGV[at], ARGV[at + 1]) end
redis.call("PEXPIRE", KEYS[1], kept)
if not isNew then return end
for _, field in ipairs(redis.call("HKEYS", KEYS[1])) do
  if tonumber(string.match(field, "^%d+")) <= now - kept then redis.call("HDEL", KEYS[1], field) end
end`;

export function createMinutes(scripts: Scripts, keyStart: string): Minutes {
  const add = scripts.create("esimWebhooksAddMinute", 1, addLua);
  const list = scripts.create("esimWebhooksMinutes", 1, `return redis.call("HGETALL", KEYS[1])`);
  const key = `${keyStart}:esim-webhooks:minutes`;
  return {
    async add(counts) {
      const added = names.flatMap((name) => [name, String(counts[name])]);
      await add([key], [String(minutesKeptMs), String(Date.now()), ...added]);
    },
    async list() {
      const answer = (await list([key], [])) as string[];
      const minutes = new Map<number, Minute>();
      const first = Date.now() - minutesKeptMs;
      for (let at = 0; at + 1 < answer.length; at += 2) {
        const [minute, name] = (answer[at] as string).split(":");
        const ms = Number(minute);
        if (ms <= first) continue;
        const counted = minutes.get(ms) ?? { at: new Date(ms), stored: 0, done: 0, retried: 0, dead: 0 };
        minutes.set(ms, { ...counted, [name as string]: Number(answer[at + 1]) });
      }
      return [...minutes.values()].sort((a, b) => a.at.getTime() - b.at.getTime());
    },
  };
}

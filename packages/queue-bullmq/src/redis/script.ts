import type { QueueClient } from "./queue.ts";

/** Runs a Lua script of ours on the client of the queue. */
export type Script = (keys: readonly string[], args: readonly string[]) => Promise<unknown>;

/** Returns a function that runs a script. It is defined at the first call, under a name that no other script has. */
export function createScript(
  client: () => Promise<QueueClient>,
  name: string,
  numberOfKeys: number,
  lua: string | (() => string),
): Script {
  let definedOn: QueueClient | undefined;
  return async (keys, args) => {
    const redis = await client();
    if (redis !== definedOn)
      redis.defineCommand(name, { numberOfKeys, lua: typeof lua === "string" ? lua : lua() });
    definedOn = redis;
    return redis.runCommand(name, [...keys, ...args]);
  };
}

/** For scripts: sets `now` to the server's time, in ms since the Unix epoch. A user may not have the right to TIME: `fallback` then. */
export function luaNow(fallback: string): string {
  return `
local time = redis.pcall("TIME")
local now = time.err and tonumber(${fallback}) or time[1] * 1000 + math.floor(time[2] / 1000)`;
}

import type { QueueClient } from "./queue.ts";

/** Runs a Lua script of ours on the client of the queue. */
export type Script = (keys: readonly string[], args: readonly string[]) => Promise<unknown>;

/** Our scripts, each under a name that no other script has. */
export interface Scripts {
  create(name: string, numberOfKeys: number, lua: string | (() => string)): Script;
  /**
   * Defines all of them on the client. If each was defined at its first call, a pipeline that ioredis has begun before, with
   * `enableAutoPipelining`, would not know it.
   */
  define(): Promise<void>;
}

export function createScripts(client: () => Promise<QueueClient>): Scripts {
  const scripts: { readonly name: string; readonly numberOfKeys: number; lua(): string }[] = [];
  return {
    create(name, numberOfKeys, lua) {
      scripts.push({ name, numberOfKeys, lua: typeof lua === "string" ? () => lua : lua });
      return async (keys, args) => (await client()).runCommand(name, [...keys, ...args]);
    },
    async define() {
      const redis = await client();
      for (const { name, numberOfKeys, lua } of scripts)
        redis.defineCommand(name, { numberOfKeys, lua: lua() });
    },
  };
}

/** Lua that sets `now` to the server's time, in ms since the Unix epoch, or to `fallback` if the user has no right to TIME. */
export function luaNow(fallback: string): string {
  return `
local time = redis.pcall("TIME")
local now = time.err and tonumber(${fallback}) or time[1] * 1000 + math.floor(time[2] / 1000)`;
}

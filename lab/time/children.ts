import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Figures } from "./place.ts";
import type { Answer } from "./process.ts";
import type { Role, Settings } from "./roles.ts";

/** A process of the run. */
export interface Child {
  readonly name: string;
  /** Settings that it adds for the processes after it. */
  readonly settings: Partial<Settings>;
  /** Takes a sample, after a garbage collection. */
  sample(): Promise<{ readonly figures: Figures; readonly counts: Readonly<Record<string, number>> }>;
  end(): Promise<void>;
}

/** Starts a process, and resolves when it is ready. A process that ends by itself ends the run. */
export async function startChild(name: string, role: Role, settings: Partial<Settings>): Promise<Child> {
  const child = fork(join(import.meta.dirname, "process.ts"), [role, JSON.stringify(settings)], {
    execArgv: [...process.execArgv, "--expose-gc", "--disable-warning=ExperimentalWarning"],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const ended = once(child, "exit");
  const failed = ended.then(([code]) => {
    throw new Error(`The ${name} has ended by itself, with ${code}.`);
  });
  failed.catch(() => {});
  const next = () => Promise.race([answerOf(child), failed]);
  const first = await next();
  return {
    name,
    settings: "settings" in first ? first.settings : {},
    async sample() {
      const answer = next();
      child.send("sample");
      const sampled = await answer;
      if ("settings" in sampled) throw new Error(`The ${name} has answered with settings.`);
      return sampled;
    },
    async end() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

async function answerOf(child: ChildProcess): Promise<Answer> {
  const [answer] = await once(child, "message");
  return answer as Answer;
}

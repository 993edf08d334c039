import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { PartnerPlace } from "./partner.ts";

/** A process of the fleet. */
export interface Partner {
  readonly url: string;
  /** Sends a command that `partner.ts` knows. */
  command(line: string): void;
  /** Resolves with the next line that it prints. */
  answer(): Promise<unknown>;
  /** SIGKILL. Resolves when it has ended. */
  kill(): Promise<void>;
}

/** Starts a process with the environment of its clock. Resolves when it receives deliveries. */
export async function startPartner(
  place: PartnerPlace,
  environment: Readonly<Record<string, string>>,
): Promise<Partner> {
  const args = ["--conditions=@esim-webhooks/source", join(import.meta.dirname, "partner.ts")];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...environment, PARTNER: JSON.stringify(place) },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const words = lastWordsOf(child);
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, "exit");
  const [line] = (await Promise.race([once(lines, "line"), ended.then(() => [""])])) as [string];
  const [, port] = /^port (\d+)$/.exec(line) ?? [];
  if (port === undefined) throw new Error(`A process of the fleet ended: ${words()}`);
  return {
    url: `http://127.0.0.1:${port}/`,
    command: (text) => void child.stdin.write(`${text}\n`),
    answer: () => once(lines, "line"),
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

function lastWordsOf(child: ChildProcess): () => string {
  let text = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    text = (text + chunk).slice(-2000);
  });
  return () => text;
}

/** A line of the journal of a trial. */
export interface Noted {
  readonly process: number;
  readonly word: "start" | "fail" | "end" | "purged";
  readonly id: string;
  /** The state of the row when the handler started, where it is known. */
  readonly state: string;
}

/** Reads what the handlers of all processes have noted, in the order in which it happened. */
export function readJournal(path: string): readonly Noted[] {
  const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => {
    const [process, word, id = "", , state = ""] = line.split(" ");
    return { process: Number(process), word: word as Noted["word"], id, state };
  });
}

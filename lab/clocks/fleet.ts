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
  /** Resolves to the next line that it prints. Rejects if it ends before. */
  answer(): Promise<string>;
  /** SIGKILL. Resolves when it has ended. */
  kill(): Promise<void>;
}

/** Starts a process of the fleet with the environment of its clock. Resolves when it receives deliveries. */
export async function startPartner(
  place: PartnerPlace,
  environment: Readonly<Record<string, string>>,
): Promise<Partner> {
  const started = startProgram("partner.ts", { ...environment, PARTNER: JSON.stringify(place) });
  const [, port = ""] = (await started.answer()).split(" ");
  return { ...started, url: `http://127.0.0.1:${port}/` };
}

/** Starts a program of this folder, which is given commands, and answers, by lines. */
export function startProgram(
  file: string,
  environment: Readonly<Record<string, string>>,
): Omit<Partner, "url"> {
  const args = ["--conditions=@esim-webhooks/source", join(import.meta.dirname, file)];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...environment },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const words = lastWordsOf(child);
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, "exit");
  return {
    command: (text) => void child.stdin.write(`${text}\n`),
    async answer() {
      const line = await Promise.race([once(lines, "line"), ended.then(() => [])]);
      if (line.length > 0) return String(line[0]);
      throw new Error(`${file} ended: ${words()}`);
    },
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
  readonly word: "start" | "fail" | "end";
  readonly id: string;
}

/** Reads what the handlers of all processes have noted, in the order in which it happened. */
export function readJournal(path: string): readonly Noted[] {
  const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => {
    const [process, word, id = ""] = line.split(" ");
    return { process: Number(process), word: word as Noted["word"], id };
  });
}

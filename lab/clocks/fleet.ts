import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root, runCommand } from "../../test/run.ts";
import type { ProcessTask } from "./fleet-process.ts";

/** A program of this folder that is given commands as lines, and prints a numbered line when it is ready, and for each command that it has run. */
export interface Commanded {
  command(line: string): void;
  /** Resolves to the next line that it prints, without its number. Rejects if it ends before. */
  answer(): Promise<string>;
  /** SIGKILL. Resolves when it has ended. */
  kill(): Promise<void>;
}

/** A process of the fleet. */
export interface FleetProcess extends Commanded {
  /** Where it receives deliveries. */
  readonly url: string;
}

/** Starts a process of the fleet with the environment of its clock. Resolves when it receives deliveries. */
export async function startFleetProcess(
  task: ProcessTask,
  environment: Readonly<Record<string, string>>,
): Promise<FleetProcess> {
  const started = startCommanded("fleet-process.ts", { ...environment, TASK: JSON.stringify(task) });
  return { ...started, url: `http://127.0.0.1:${await started.answer()}/` };
}

/** Starts a program of this folder. Its first answer says that it is ready. */
export function startCommanded(file: string, environment: Readonly<Record<string, string>>): Commanded {
  const args = ["--conditions=@esim-webhooks/source", join(import.meta.dirname, file)];
  const { child, line, ended } = runCommand(process.execPath, args, environment, root, "pipe");
  let answers = 0;
  return {
    command: (text) => void child.stdin?.write(`${text}\n`),
    async answer() {
      const [, answer = ""] = await line(new RegExp(`^${answers++}: (.*)`));
      return answer;
    },
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** A line of the journal of a trial. */
export interface Noted {
  readonly process: number;
  readonly word: "start" | "fail" | "end";
  readonly id: string;
  /** The state of the row when the handler started. Empty for the other words; `unknown` where there is no row. */
  readonly state: string;
}

/** Reads what the handlers of all processes have noted, in the order in which it happened. */
export function readJournal(path: string): readonly Noted[] {
  const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => {
    const [process, word, id = "", state = ""] = line.split(" ");
    return { process: Number(process), word: word as Noted["word"], id, state };
  });
}

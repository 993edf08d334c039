import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../../../test/run.ts";
import { type Ended, startLine } from "../cli.ts";
import type { Backend } from "./backend.ts";

/** The blocks of commands of docs/runbook.md, which are run as they are written there. */
export interface Runbook {
  /**
   * Runs a block of a section in the backend's folder, line by line. A command with --every is stopped once it has `written`
   * this. `block` counts from 1.
   */
  follow(section: string, block: number, backend: Backend, written?: RegExp): Promise<Ended[]>;
  /** The blocks that were not run. */
  left(): string[];
}

export function openRunbook(): Runbook {
  const [, ...sections] = readFileSync(join(root, "docs/runbook.md"), "utf8").split(/^## /m);
  const blocks = new Map<string, string>(
    sections.flatMap((section) => {
      const title = section.slice(0, section.indexOf("\n"));
      const found = [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)];
      return found.map(([, commands = ""], index) => [`${title}, ${index + 1}`, commands] as const);
    }),
  );
  const left = new Set(blocks.keys());
  return {
    async follow(section, block, { cwd, env }, written) {
      const name = `${section}, ${block}`;
      const commands = blocks.get(name);
      if (commands === undefined) throw new Error(`docs/runbook.md has no block "${name}".`);
      left.delete(name);
      const ended: Ended[] = [];
      for (const line of commands.trim().split("\n")) {
        const running = startLine(line, { cwd, env });
        if (written !== undefined) {
          await running.written(written);
          running.child.kill("SIGTERM");
        }
        ended.push(await running.ended);
      }
      return ended;
    },
    left: () => [...left],
  };
}

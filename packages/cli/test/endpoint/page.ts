import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../../../test/run.ts";
import { type Begun, begin, type CliOptions, type Ended, startLine } from "../cli.ts";

export interface Block {
  /** A line each. */
  readonly commands: readonly string[];
  /** What the page shows of the output. */
  readonly shown: readonly string[];
}

/** The blocks of commands of a page of docs/, which are run as they are written there: `sh`, and those in which a line begins with `$`. */
export interface Page {
  /** A block below a heading. `block` counts from 1. */
  take(heading: string, block: number): Block;
  /** Runs a block in this folder, line by line. A command with --every is stopped once it has `written` this. */
  follow(heading: string, block: number, place: CliOptions, written?: RegExp): Promise<Ended[]>;
  /** The text below a heading, up to the next one. */
  textOf(heading: string): string;
  /** The blocks that were not taken. */
  left(): string[];
}

export function openPage(file: string): Page {
  const [, ...sections] = readFileSync(join(root, file), "utf8").split(/^#+ /m);
  const blocks = new Map<string, Block>(
    sections.flatMap((section) => {
      const heading = section.slice(0, section.indexOf("\n"));
      const found = [...section.matchAll(/^ *```(?:sh\n|\n(?=\$ ))([\s\S]*?)\n *```$/gm)];
      return found.map(([, text = ""], index) => [`${heading}, ${index + 1}`, blockOf(text)] as const);
    }),
  );
  const left = new Set(blocks.keys());

  function take(heading: string, number: number): Block {
    const name = `${heading}, ${number}`;
    const block = blocks.get(name);
    if (block === undefined) throw new Error(`${file} has no block "${name}".`);
    left.delete(name);
    return block;
  }

  return {
    take,
    async follow(heading, number, { cwd, env }, written) {
      const ended: Ended[] = [];
      for (const line of take(heading, number).commands) {
        const running = beginLine(line, { ...(cwd && { cwd }), ...(env && { env }) });
        if (written !== undefined && line.includes("--every")) {
          await running.written(written);
          running.kill("SIGTERM");
        }
        ended.push(await running.ended);
      }
      return ended;
    },
    textOf: (heading) => sections.find((section) => section.startsWith(`${heading}\n`)) ?? "",
    left: () => [...left],
  };
}

/** Begins a line in this process if it is one command, and in a shell if it needs one, or options for Node.js. */
function beginLine(line: string, options: CliOptions): Begun {
  const { env = {} } = options;
  const args = env["NODE_OPTIONS"] === undefined ? argumentsOf(line, env) : undefined;
  return args === undefined ? startLine(line, options) : begin(args, options);
}

/** The arguments of a line that is one call of the command line. Undefined: only a shell knows what it does. */
function argumentsOf(line: string, env: Readonly<Record<string, string>>): string[] | undefined {
  const [program, ...words] = line.match(/(?:"[^"]*"|[^\s"])+/g) ?? [];
  if (program !== "esim-webhooks") return undefined;
  const args = words.map((word) => {
    const variable = /^"\$(\w+)"$/.exec(word)?.[1];
    if (variable !== undefined) return env[variable] ?? "";
    if (/^"[^"$`\\]*"$/.test(word)) return word.slice(1, -1);
    return /^[\w.,:/@=+-]+$/.test(word) ? word : undefined;
  });
  return args.every((arg) => arg !== undefined) ? args : undefined;
}

function blockOf(text: string): Block {
  const indentation = /^ */.exec(text)?.[0] ?? ""; // in a list
  const lines = text.split("\n").map((line) => line.replace(indentation, ""));
  if (!text.startsWith("$ ")) return { commands: lines, shown: [] };
  const isCommand = (line: string) => line.startsWith("$ ");
  return {
    commands: lines.filter(isCommand).map((line) => line.slice(2)),
    shown: lines.filter((line) => !isCommand(line) && line !== "…" && line !== "^C"),
  };
}

/** Lines without what differs from one run to the next: names, numbers, times. */
export function alike(lines: readonly string[]): string[] {
  return lines.map((line) =>
    line
      .replace(/^API: .*/, "API: …")
      .replaceAll(/https?:\/\/[^\s)]+/g, "URL")
      .replaceAll(/\bWHE\w+/g, "WHE…")
      .replaceAll(/\bmsg_\w+/g, "msg_…")
      .replaceAll(/\bkey:[0-9a-f]{8}\b/g, "key:…")
      .replaceAll(/\bnow\b|\d+[smhd] ago\b/g, "ago")
      .replaceAll(/\d+(?:,\d{3})*/g, "0")
      .replaceAll(/ +/g, " "),
  );
}

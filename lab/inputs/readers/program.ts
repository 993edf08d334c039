import { EventEmitter } from "node:events";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { createReceiver, type EsimEvents, type Handlers } from "@esim-webhooks/core";
import type { Command, RouteMap } from "@stricli/core";
import { commands } from "../../../packages/cli/src/commands.ts";
import {
  type CliContext,
  type CliProcess,
  createContext,
  type RunOptions,
} from "../../../packages/cli/src/program/context.ts";
import { run } from "../../../packages/cli/src/run.ts";
import { loadConfig } from "../../../packages/cli/src/set-up/config-file.ts";
import { readCaptured } from "../../../packages/cli/src/verify/verify.ts";
import { loggerWith } from "../../../test/support/loggers.ts";
import { baseGrammar } from "../base-grammar.ts";
import { type Grammar, textOf } from "../grammar.ts";
import { checkSecrecy, reader } from "../reader.ts";
import { secrets } from "./signed.ts";

/** The commands of the program, those in groups too. */
async function allCommands(): Promise<readonly Command<CliContext>[]> {
  const found: Command<CliContext>[] = [];
  const add = (target: Command<CliContext> | RouteMap<CliContext>): void => {
    if (!("getAllEntries" in target)) found.push(target);
    else for (const entry of target.getAllEntries()) add(entry.target);
  };
  for (const { load } of Object.values(commands)) add(await load());
  return found;
}

const all = await allCommands();
const flags = [...new Set(all.flatMap(({ parameters }) => Object.keys(parameters.flags ?? {})))];

function processOf(write: (text: string) => void): CliProcess {
  const stream = () => new Writable({ write: (chunk, _encoding, done) => done(void write(String(chunk))) });
  return Object.assign(new EventEmitter(), {
    stdin: Readable.from([]),
    stdout: stream(),
    stderr: stream(),
    env: { ESIM_WEBHOOK_SECRET: secrets[0], ESIM_CLIENT_SECRET: secrets[1] },
    cwd: () => "/",
    platform: process.platform,
    version: process.version,
    execPath: process.execPath,
    getBuiltinModule: process.getBuiltinModule,
    exit: () => {},
  }) as unknown as CliProcess;
}

/** Runs the command line. No command does anything: only its arguments are read. */
async function runIdle(args: readonly string[]): Promise<{ readonly code: number; readonly text: string }> {
  let text = "";
  const loaders = all.map((command) => [command, command.loader] as const);
  try {
    for (const [command] of loaders) Object.assign(command, { loader: async () => async () => {} });
    const context = createContext(
      processOf((chunk) => {
        text += chunk;
      }),
      { now: () => 1_800_000_000_000 },
    );
    return { code: await run(args, context), text };
  } finally {
    for (const [command, loader] of loaders) Object.assign(command, { loader });
  }
}

const shellGrammar: Grammar = {
  ...baseGrammar,
  command: [
    ...Object.keys(commands),
    "inbox list",
    "inbox show",
    "inbox retry",
    "inbox erase",
    "api show",
    "<word>",
  ],
  flag: [
    ...flags.map((name) => `--${name}`),
    ...flags.map((name) => `--no-${name}`),
    "-h",
    "--",
    "-<word>",
    "--help",
  ],
  value: ["<digits>", "5m", "30s", "2h ago", "<time>", "<characters>", "<id>", "<type>", "-1", "a=b", ""],
  word: ["list", "show", "dead", "toString", "__proto__", "constructor", "a", "-"],
  argument: ["<flag>", "<flag>\n<value>", "<flag>=<value>", "<value>"],
  arguments: ["", "<argument>", "<argument>\n<arguments>"],
};

const program = reader({
  name: "command line: arguments",
  share: 1,
  grammar: shellGrammar,
  parts: ["<command>", "<arguments>"],
  throws: [],
  prepare: ([command = "", words = ""]) =>
    [...command.split(" "), ...words.split("\n")].filter((word) => word !== "").map(textOf),
  call: runIdle,
  check({ code, text }) {
    if (code !== 0 && code !== 2) throw new Error(`the exit code is ${code}: ${text.slice(0, 200)}`);
    if (code === 2 && text.trim() === "") throw new Error("a mistake without a message");
    if (/\(unexpected\)|TypeError|RangeError/.test(text))
      throw new Error(`unexpected: ${text.slice(0, 200)}`);
    checkSecrecy(text, "the output", secrets);
  },
});

const anyFile = join(import.meta.dirname, "program.ts");

/** JSON, with a function for each text that begins with `@`. */
function configOf(text: string): unknown {
  try {
    return JSON.parse(text, (_name, value) =>
      typeof value === "string" && value.startsWith("@") ? () => {} : value,
    );
  } catch {
    return text;
  }
}

const options = [
  ...[
    "secret",
    "toleranceSeconds",
    "maxBodyBytes",
    "deadlineMs",
    "leaseMs",
    "bodyTimeoutMs",
    "logger",
    "clock",
  ],
  ...["catalog", "endpoints", "source", "store", "drift", "maxUnverifiedBytes"],
];

const config = reader({
  name: "config: what its file exports, and options of the receiver",
  share: 2,
  grammar: {
    ...baseGrammar,
    private: ["a"], // a message may name an option that does not exist
    name: [
      "environment",
      "secret",
      "catalog",
      "target",
      "handlers",
      "store",
      "state",
      "source",
      "endpoints",
      "path",
      "port",
      "host",
      "worker",
      "api",
    ],
    option: options,
    good: [`"${secrets[0]}"`, `["${secrets[0]}"]`, '[{"secret":"<characters>","notAfter":"<time>"}]'],
    value: [
      "<json>",
      '"@f"',
      '{"put":"@f"}',
      '{"claim":"@f","extend":"@f","complete":"@f","release":"@f"}',
      '{"read":"@f","write":"@f"}',
      '"/hooks"',
      "8080",
      "<number>",
      '{"past":<number>}',
      "<good>",
      '{"<type>":"@f"}',
    ],
    receiver: ['"receiver":{<settings>}', '"receiver":<json>'],
    settings: ['"<option>":<value>', '"<option>":<value>,<settings>'],
    field: ['"<name>":<value>', '"secret":<good>', "<receiver>", "<member>"],
    config: ["{}", "{<contents>}", "<json>"],
    contents: ["<field>", "<field>,<contents>"],
  },
  parts: ["<config>"],
  throws: ["invalid_config", "invalid_option", "invalid_secret", "missing_secret", "unknown_event_type"],
  prepare: ([text = ""]) => configOf(textOf(text)),
  async call(exported) {
    const options: RunOptions = { importConfig: async () => ({ default: exported }) };
    const { config } = await loadConfig(
      createContext(
        processOf(() => {}),
        options,
      ),
      anyFile,
    );
    const { receiver = {}, handlers = {}, secret, endpoints, source } = config;
    const own = { secret, endpoints, source, logger: loggerWith() };
    const given = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
    await createReceiver(handlers as Handlers<EsimEvents>, { ...receiver, ...given } as never).close();
  },
  check() {},
});

const captured = reader({
  name: "captured request: as text of HTTP or as JSON",
  share: 2,
  grammar: {
    ...baseGrammar,
    header: [
      "webhook-id: <id>",
      "Webhook-Timestamp: <digits>",
      "webhook-signature: v1,<characters>",
      "<word>:<characters>",
    ],
    headers: ["<header>\r\n", "<header>\r\n<headers>", "<header>\n<headers>"],
    http: ["POST / HTTP/1.1\r\n<headers>\r\n<event>", "<headers>\r\n<event>", "<headers>"],
    request: [
      '{"headers":{"webhook-id":"<id>"},"body":<body>,"receivedAt":"<time>"}',
      "<http>",
      "<json>",
      "<long>",
    ],
    body: ['"<characters>"', "<event>"],
  },
  parts: ["<request>"],
  throws: ["invalid_usage"],
  mostCpuMs: 500, // a file, read as an import reads a dump
  prepare: ([text = ""]) => Buffer.from(text, "latin1"),
  call: readCaptured,
  check({ bodies, headers }) {
    if (bodies.length === 0 || typeof headers !== "object") throw new Error("a request without a body");
  },
});

export const programReaders = [program, config, captured];

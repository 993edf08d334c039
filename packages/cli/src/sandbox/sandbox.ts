import { once } from "node:events";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { span } from "@esim-webhooks/core/internal";
import { printable } from "@esim-webhooks/core/log-lines";
import { maskSecrets, shortened } from "@esim-webhooks/core/masking";
import { type DeliveryAttempt, type Sandbox, startSandbox } from "@esim-webhooks/sandbox";
import { optionsOf } from "../flags/flag.ts";
import type { CliContext, CliProcess, Output } from "../program/context.ts";
import { typedCommand } from "../program/shell.ts";
import { stopSignal } from "../program/stopping.ts";
import { codeOf } from "../send/post.ts";
import { configFiles } from "../set-up/config-file.ts";
import { openModeOf } from "../set-up/place.ts";
import { folderOf } from "../set-up/set-up.ts";
import { type SandboxFlags, sandboxFlags } from "./flags.ts";

/** Runs the partner service until the command is stopped. */
export async function sandbox(this: CliContext, flags: SandboxFlags): Promise<void> {
  const { output } = this;
  const { json, data, port = 4010 } = flags;
  const started = await startSandbox({
    port,
    controlPort: port === 0 ? 0 : port + 1,
    ...optionsOf(sandboxFlags, flags),
    ...(data !== undefined && { data: resolve(this.process.cwd(), data) }),
    ...(!json && { onAttempt: (attempt) => output.data(attemptLine(attempt, output)) }),
  });
  const openMode = data === undefined ? undefined : await openModeOf(folderOf(this.process, data), "secrets");
  const stop = stopSignal(this);
  if (json) output.json(firstLine(started));
  else output.data(welcome(started, flags, output, this.process));
  if (openMode !== undefined) output.note(openMode);
  await once(stop.signal, "abort");
  await started.close();
  stop.release();
}

function firstLine({ url, controlUrl, credentials }: Sandbox): object {
  return { url, controlUrl, ...credentials };
}

/** The first lines for a user: the addresses, and the commands to try. Shows no secret: `/environment` has them. */
export function welcome(
  { url, controlUrl, credentials }: Sandbox,
  flags: SandboxFlags,
  output: Output,
  process: CliProcess,
): string {
  const bold = (text: string) => output.style("bold", text);
  return [
    "The partner service runs on this machine, and nowhere else can reach it.",
    "",
    `  API            ${bold(url)}`,
    `  its document   ${url}/openapi.json`,
    `  client_id      ${bold(credentials.clientId)}`,
    `  control, page  ${bold(controlUrl)}`,
    `  state          ${flags.data === undefined ? "in memory: it ends with this program (--data keeps it)" : `in ${flags.data}`}`,
    `  clock          ${clockOf(flags)}`,
    "",
    "Try next, in another terminal:",
    "",
    ...(process.env["npm_package_name"] === "esim-webhooks" // a clone of this repository
      ? [`  ${sameSandbox(controlUrl)}npm start`]
      : [...firstCommands(controlUrl, process), "Then order an eSIM:", ""]),
    `  curl -d '{}' ${controlUrl}/esims`,
    "",
    "Each attempt to deliver an event is printed below.",
  ].join("\n");
}

/** The file of docs/start.md, from which its config loads the variables of the API. */
const variablesFile = "sandbox.env";

/** The commands of docs/start.md for a folder with a config. Without a config, flags take its place, and a variable has the secret. */
function firstCommands(controlUrl: string, process: CliProcess): readonly string[] {
  const { env: environment } = process;
  const ensure = `  ${typedCommand("endpoint ensure", environment)} http://127.0.0.1:3000/webhooks`;
  const serve = `  ${typedCommand("serve", environment)}`;
  const variables = "ESIM_API_URL, ESIM_CLIENT_ID and ESIM_CLIENT_SECRET";
  const registers = "The second one registers your receiver for";
  const receives = "The last one receives; your own application does too.";
  const configs = configFiles(process);
  if (configs.length > 0) {
    const fromFile = configs.some((file) => readFileSync(file, "utf8").includes(variablesFile));
    const api = `curl -s ${controlUrl}/environment/api`;
    return [
      fromFile ? `  ${api} > ${variablesFile}` : `  eval "$(${api})"`,
      ensure,
      serve,
      "",
      `The first one ${fromFile ? "writes" : "sets"} ${variables}. ${registers}`,
      "the event types of your handlers, and writes its secret where your config reads it.",
      receives,
    ];
  }
  return [
    `  eval "$(curl -s ${controlUrl}/environment)"`,
    `${ensure} --types '*' --key-file signing-keys.json`,
    `  eval "$(curl -s ${controlUrl}/environment)"`,
    serve,
    "",
    `The first one sets ${variables}. ${registers} every`,
    'event, and writes its secret to signing-keys.json, for your config: secret: fileKeySource("signing-keys.json"). The third one',
    `sets ESIM_WEBHOOK_SECRET for a receiver without a config; it would take precedence over one. ${receives}`,
  ];
}

/** The variable by which `npm start` finds the sandbox, unless it is where `npm start` looks for it. */
function sameSandbox(controlUrl: string): string {
  return controlUrl === "http://127.0.0.1:4011" ? "" : `SANDBOX_URL=${controlUrl} `;
}

function clockOf({ clock, speed = 1 }: SandboxFlags): string {
  if (clock === "manual") return "stands still; POST /clock of the control side advances it";
  return speed === 1 ? "real time" : `${speed} times as fast as real time`;
}

/**
 * An attempt to deliver an event: `12:00:01  ✔ 200 processed  esim.assigned  msg_1  eSIM 7301…  12 ms  to http://127.0.0.1:3000/webhooks`.
 * Without an answer, the error of the connection follows on a line of its own.
 */
export function attemptLine(attempt: DeliveryAttempt, output: Output): string {
  const { eventType, eventId, esimReference, url, attemptNumber, httpStatus, error, durationMs } = attempt;
  const { status, responseBody, retryInMs } = attempt;
  const [mark, colour] =
    status === "delivered"
      ? (["✔", "green"] as const)
      : retryInMs === null
        ? (["✘", "red"] as const)
        : (["!", "yellow"] as const);
  const answer =
    httpStatus === null
      ? "no answer"
      : [httpStatus, codeOf({ body: responseBody ?? "" }) ?? []].flat().join(" ");
  const columns = [
    output.style("dim", new Date().toTimeString().slice(0, 8)),
    output.style(colour, `${mark} ${answer.padEnd(18)}`),
    printable(eventType),
    printable(eventId),
    ...(esimReference === null ? [] : [`eSIM ${printable(shortened(esimReference))}`]),
    ...(attemptNumber === 1 ? [] : [`attempt ${attemptNumber}`]),
    output.style("dim", `${durationMs} ms  to ${shortened(maskSecrets(url))}`),
    ...(retryInMs === null ? [] : [output.style("yellow", `again in ${span(retryInMs)}`)]),
  ];
  const line = columns.join("  ");
  return error === null ? line : `${line}\n          ${printable(shortened(error))}`;
}

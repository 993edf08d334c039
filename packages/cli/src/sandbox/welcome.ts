import type { Sandbox } from "@esim-webhooks/sandbox";
import type { Output } from "../program/output.ts";
import { typedCommand } from "../program/typed-command.ts";
import type { SandboxFlags } from "./flags.ts";

/** What a user wants to know first: the addresses, and the commands to try. Shows no secret: `/environment` has them. */
export function welcome(
  { url, controlUrl, credentials }: Sandbox,
  flags: SandboxFlags,
  output: Output,
  environment: NodeJS.ProcessEnv,
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
    `  curl -sfo /dev/null ${controlUrl}/endpoints -d '{"url":"http://127.0.0.1:3000/webhooks"}'`,
    `  eval "$(curl -s ${controlUrl}/environment)"`,
    `  ${typedCommand("serve", environment)}`,
    "",
    "The first one registers your receiver for every event. The second one sets its ESIM_WEBHOOK_SECRET, and ESIM_API_URL,",
    "ESIM_CLIENT_ID and ESIM_CLIENT_SECRET for what calls the API. The third one receives; your own application does too.",
    `A receiver that registers itself needs none of them: ${sameSandbox(controlUrl)}npm start in a clone of esim-webhooks. Then order an eSIM:`,
    "",
    `  curl ${controlUrl}/esims -d '{}'`,
    "",
    "Each attempt to deliver an event is printed below.",
  ].join("\n");
}

/** The variable by which `npm start` finds the sandbox, unless it is where `npm start` looks for it. */
function sameSandbox(controlUrl: string): string {
  return controlUrl === "http://127.0.0.1:4011" ? "" : `SANDBOX_URL=${controlUrl} `;
}

function clockOf({ clock, speed = 1 }: SandboxFlags): string {
  if (clock === "manual") return "stands still; POST /clock of the control side advances it";
  return speed === 1 ? "real time" : `${speed} times as fast as real time`;
}

import type { Sandbox } from "@esim-webhooks/sandbox";
import type { Output } from "../program/output.ts";
import type { SandboxFlags } from "./flags.ts";

/** What somebody who starts it wants to know first: the addresses, the credentials, and three commands to try. */
export function welcome(
  { url, controlUrl, credentials }: Sandbox,
  flags: SandboxFlags,
  output: Output,
): string {
  const bold = (text: string) => output.style("bold", text);
  return [
    "The partner service runs on this machine, and nowhere else can reach it.",
    "",
    `  API            ${bold(url)}`,
    `  its document   ${url}/openapi.json`,
    `  client_id      ${bold(credentials.clientId)}`,
    `  client_secret  ${bold(credentials.clientSecret)}`,
    `  control, page  ${bold(controlUrl)}`,
    `  state          ${flags.data === undefined ? "in memory: it ends with this program (--data keeps it)" : `in ${flags.data}`}`,
    `  clock          ${clockOf(flags)}`,
    "",
    "For everything that calls the API:",
    "",
    `  export ESIM_API_URL=${url} ESIM_CLIENT_ID=${credentials.clientId} ESIM_CLIENT_SECRET=${credentials.clientSecret}`,
    "",
    "Try next, in another terminal:",
    "",
    `  curl ${controlUrl}/endpoints -d '{"url":"http://127.0.0.1:3000/webhooks"}'`,
    `  curl ${controlUrl}/esims -d '{}'`,
    `  curl ${controlUrl}/deliveries`,
    "",
    "The first one registers a receiver of your own for every event, and answers with its signing secret. Leave it out where the",
    "receiver registers itself, as npm start does. The second one orders an eSIM, and the third shows what was sent.",
    "To receive it: ESIM_WEBHOOK_SECRET=<the secret> esim-webhooks serve",
  ].join("\n");
}

function clockOf({ clock, speed = 1 }: SandboxFlags): string {
  if (clock === "manual") return "stands still; POST /clock of the control side advances it";
  return speed === 1 ? "real time" : `${speed} times as fast as real time`;
}

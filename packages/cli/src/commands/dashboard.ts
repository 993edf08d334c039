import type { Command } from "@stricli/core";
import type { DashboardFlags } from "../dashboard/dashboard.ts";
import { textFlag, wholeNumber } from "../flags/flag-kinds.ts";
import { inboxFlags } from "../inbox/flags.ts";
import { command, help } from "../program/command.ts";
import type { CliContext } from "../program/context.ts";
import { invalidUsage } from "../program/program-error.ts";

function parseColor(text: string): string {
  if (/^#[0-9a-f]{6}$/i.test(text)) return text;
  throw invalidUsage(`"${text}" is not a colour.`, "Write it as '#b42318', in quotes.");
}

export const dashboard: Command<CliContext> = command<DashboardFlags, []>({
  loader: async () => (await import("../dashboard/dashboard.ts")).dashboard,
  parameters: {
    flags: {
      port: {
        kind: "parsed",
        parse: wholeNumber(0, 65_535),
        optional: true,
        placeholder: "number",
        brief: "The port to listen on; 0: any free port. Default: 4020",
      },
      host: textFlag("address", "127.0.0.1, ::1 or localhost. Default: 127.0.0.1"),
      title: textFlag("name", "The name of the environment, such as production, shown on every view"),
      color: {
        kind: "parsed",
        parse: parseColor,
        optional: true,
        placeholder: "hex",
        brief: "The colour of the title, such as '#b42318'",
      },
      ...inboxFlags,
    },
  },
  docs: help(
    "Show the inbox in the browser",
    [
      "Shows the inbox as a page on this machine: what waits and why, each event with its attempts, and what to retry. It prints an",
      "address that is new each time. Its path is the key to an operator's role: do not pass it on. With the credentials of the partner API",
      "(ESIM_API_URL, ESIM_CLIENT_ID, ESIM_CLIENT_SECRET), it also shows the endpoints. Each action is printed, with your name.",
      "For other people, mount inboxDashboard of @esim-webhooks/dashboard in your application.",
    ].join("\n"),
    [
      "esim-webhooks dashboard",
      "DATABASE_URL=postgres://… esim-webhooks dashboard --title production --color '#b42318'",
      "esim-webhooks dashboard --from backup.db --port 0",
    ],
  ),
});

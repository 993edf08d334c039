import { dashboardFlags } from "../dashboard/flags.ts";
import { command, help } from "../flags/command.ts";

export const dashboard = command({
  load: async () => (await import("../dashboard/dashboard.ts")).dashboard,
  flags: dashboardFlags,
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

// Shows the dashboard with a few thousand events in a SQLite inbox, on http://127.0.0.1:4400 or the port that is passed:
// node --conditions=@esim-webhooks/source packages/dashboard/test/demo-dashboard.ts [port] [viewer]
import { mkdtemp } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { inboxDashboard } from "@esim-webhooks/dashboard";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import { loggerWith } from "../../../test/support/loggers.ts";
import { fill, report } from "./filled-inbox.ts";

const [port = "4400", role = "operator"] = process.argv.slice(2);
const path = join(await mkdtemp(join(tmpdir(), "dashboard-")), "inbox.db");
const lane = ({ data }: { readonly data: { readonly esimReference?: string } }) => data.esimReference ?? null;
const filled = sqliteInbox({ path, lane }); // counts no minute: the events are those of months
await fill(filled, 4000);
await filled.close();
export const inbox = sqliteInbox({ path, lane, minuteCounts: true });
countMinutes();
setInterval(() => void report(inbox), 10_000);

/** The minutes of the last hours. An inbox counts the present one only. */
function countMinutes(): void {
  const database = new DatabaseSync(path);
  const insert = database.prepare("insert or replace into esim_webhooks_minute values (?, ?, ?, ?, ?)");
  const now = Math.floor(Date.now() / 60_000) * 60_000;
  for (let ago = 1; ago < 6 * 60; ago += 1) {
    const stored = Math.round(40 + 25 * Math.sin(ago / 40) + ((ago * 7) % 11));
    const isDown = ago > 90 && ago < 125;
    const done = isDown ? 2 : ago > 60 && ago <= 90 ? stored + 30 : stored;
    insert.run(now - ago * 60_000, stored, done, isDown ? 18 : ago % 3, isDown ? 9 : 0);
  }
  database.close();
}

const dashboard = inboxDashboard(inbox, {
  authorize: () => ({ role: role === "viewer" ? "viewer" : "operator", name: "ada" }),
  title: "production",
  color: "#b42318",
  logger: loggerWith({ info: console.log, warn: console.warn, error: console.error }),
  handlers: { "esim.faulted": () => {}, "esim.lifecycle.*": () => {}, "package.ended": () => {} },
  client: {
    webhooks: {
      async *list() {
        yield {
          webhookEndpointReference: "WHE7Q2M4ZD",
          url: "https://hooks.example.com/webhooks",
          active: true,
          eventTypes: ["esim.faulted", "esim.enabled", "esim.lifecycle.suspended"],
        };
      },
      async *deliveries() {
        const { rows } = await inbox.list({ types: ["esim.faulted"] }, { limit: 200 });
        for (const [ago, row] of rows.entries()) {
          const isMissed = ago === 7 || ago === 60;
          const isComing = ago % 9 === 5;
          yield {
            eventId: isMissed || isComing ? `msg_${4711 - ago}not0received` : row.id,
            eventType: row.type,
            status: isMissed ? "exhausted" : isComing ? "failed" : "delivered",
            attemptNumber: isMissed ? 10 : isComing ? 3 : 1,
            httpStatus: isMissed || isComing ? 503 : 202,
            nextRetryAt: isComing ? new Date(Date.now() + 600_000).toISOString() : null,
            sentAt: row.receivedAt?.toISOString() ?? null,
          };
        }
      },
    },
  },
});

createServer((request, response) => void dashboard.node(request, response)).listen(
  Number(port),
  "127.0.0.1",
  () => console.log(`http://127.0.0.1:${port}/`),
);

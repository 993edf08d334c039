import { createHash, timingSafeEqual } from "node:crypto";
import type { AddressInfo } from "node:net";
import { consoleLogger } from "@esim-webhooks/core";
import { inboxDashboard, type Visitor } from "@esim-webhooks/dashboard";
import { webhookRouter } from "@esim-webhooks/express";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import express, { type NextFunction, type Request, type Response } from "express";

const logger = consoleLogger();

// the inbox of your receiver; its workers may be in other processes
const inbox = sqliteInbox({ path: `${process.env["DATA_DIR"] ?? "data"}/events.db`, logger });
await inbox.ready();

interface SignedIn extends Request {
  user?: Visitor;
}

// in place of the log-in of your application: HTTP Basic, a password for each role
const passwords = { operator: process.env["OPERATOR_PASSWORD"], viewer: process.env["VIEWER_PASSWORD"] };
const digest = (text: string) => createHash("sha256").update(text).digest();

function signIn(request: SignedIn, response: Response, next: NextFunction): void {
  const [, encoded = ""] = /^Basic (\S+)$/.exec(request.headers.authorization ?? "") ?? [];
  const [name = "", given = ""] = Buffer.from(encoded, "base64").toString().split(/:(.*)/s);
  const role = (["operator", "viewer"] as const).find((each) => {
    const password = passwords[each];
    return password && timingSafeEqual(digest(password), digest(given));
  });
  if (role === undefined || name === "") {
    response.set("www-authenticate", 'Basic realm="Webhook inbox"').status(401).end();
    return;
  }
  request.user = { role, name };
  next();
}

const dashboard = inboxDashboard(inbox, {
  authorize: (_, { user }: SignedIn) => user ?? null,
  title: process.env["ENVIRONMENT"] ?? "development",
  logger, // a line for each action, with the name of the operator
});

const app = express();
const router = webhookRouter(inbox, { logger });
app.use(router); // before any body parser
app.use("/webhooks-inbox", signIn, dashboard.node);

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", (error) => {
  if (error) {
    console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
    process.exit(1);
  }
  console.log(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

process.once("SIGTERM", async () => {
  server.close();
  await router.close(); // deliveries in flight finish, and need the inbox
  await inbox.close();
});

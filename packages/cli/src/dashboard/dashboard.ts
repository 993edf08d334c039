import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Logger } from "@esim-webhooks/core";
import { inboxDashboard } from "@esim-webhooks/dashboard";
import { clientOptions } from "../api/client-options.ts";
import { openClient } from "../api/open-client.ts";
import { operator } from "../inbox/pauses.ts";
import { type InboxAccess, withInbox } from "../inbox/with-inbox.ts";
import { commandLogger, dataLines } from "../log/command-logger.ts";
import type { CliContext } from "../program/context.ts";
import { createSideServer } from "../program/http-server.ts";
import { invalidUsage, programError } from "../program/program-error.ts";
import { stopSignal } from "../program/stopping.ts";
import { findDriftState, hasDriftState } from "../set-up/drift-state.ts";
import { isKeyStore } from "../set-up/key-place.ts";
import type { DashboardFlags } from "./flags.ts";

/** Serves the inbox as a page until the command is stopped. */
export async function dashboard(this: CliContext, flags: DashboardFlags): Promise<void> {
  const { host = "127.0.0.1", port = 4020 } = flags;
  checkLoopback(host);
  const logger = commandLogger(dataLines(this.output, flags));
  await withInbox(
    this,
    flags,
    async (access) => {
      // secret: other users of this machine can reach the port, and the name of another site can lead to it
      const path = `/${randomBytes(16).toString("base64url")}/`;
      const server = createSideServer();
      const address = await listening(server.listen(port, host), flags);
      const drift = hasDriftState(access.setUp) ? await findDriftState(access.setUp) : undefined;
      const page = inboxDashboard(access.inbox, {
        ...(drift && { drift: drift.state }),
        authorize: ({ url }) =>
          isOwn(new URL(url), address, path) ? { role: "operator", name: operator(this) } : null,
        ...optionsOf(this, access, flags, logger),
      });
      server.on("request", page.node);
      const stop = stopSignal(this, "what was begun");
      const url = `http://${address}${path}`;
      if (flags.json) this.output.json({ url });
      else this.output.note(`The dashboard of ${access.where}: ${this.output.styleNote("bold", url)}`);
      await once(stop.signal, "abort");
      const closed = once(server, "close");
      server.close();
      server.closeIdleConnections();
      await closed;
      await drift?.close();
      stop.release();
    },
    logger,
  );
}

function optionsOf(
  context: CliContext,
  { setUp, types }: InboxAccess,
  { title, color }: DashboardFlags,
  logger: Logger,
) {
  const { handlers, secret } = setUp;
  const api = clientOptions(setUp, context.process);
  const hasClient = Boolean(api.baseUrl && (api.exchange ?? (api.clientId && api.clientSecret)));
  return {
    catalog: { types },
    logger,
    ...(title !== undefined && { title }),
    ...(color !== undefined && { color }),
    ...(handlers && { handlers }),
    ...(isKeyStore(secret) && { keys: secret }),
    ...(hasClient && { client: openClient(setUp, context.process, api) }),
  };
}

/** Whether a request has the secret path and names the printed address, or localhost: another site's name may lead to this port, too. */
function isOwn({ host, pathname }: URL, address: string, path: string): boolean {
  const port = address.slice(address.lastIndexOf(":"));
  return (host === address || host === `localhost${port}`) && pathname.startsWith(path);
}

function checkLoopback(host: string): void {
  if (["127.0.0.1", "::1", "localhost"].includes(host)) return;
  throw invalidUsage(
    `--host ${host} is not this machine alone, and this dashboard has no log-in.`,
    "Leave it out. For other machines, mount inboxDashboard of @esim-webhooks/dashboard behind your own authentication.",
  );
}

/** Resolves to the host and the port. Throws `cannot_listen`. */
async function listening(server: Server, { host = "127.0.0.1", port }: DashboardFlags): Promise<string> {
  try {
    await once(server, "listening");
  } catch (cause) {
    throw programError(
      "cannot_listen",
      `Cannot listen on ${host}${port === undefined ? "" : `, port ${port}`}.`,
      "Choose a free port with --port (0: any).",
      { cause },
    );
  }
  const { address, family, port: bound } = server.address() as AddressInfo;
  return `${family === "IPv6" ? `[${address}]` : address}:${bound}`;
}

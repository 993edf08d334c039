import { type Awaitable, esimCatalog, type InboxAdmin, type Logger, WebhookError } from "@esim-webhooks/core";
import { type OptionsShape, parseOptions, warnOfSetup, withMethods } from "@esim-webhooks/core/engine";
import { hasRole, loggerOption, silentLogger } from "@esim-webhooks/core/internal";
import * as z from "zod/mini";
import { assetOf, encodingOf } from "./assets.ts";
import { callOf, isCall } from "./calls.ts";
import { failureOf, refused } from "./failure.ts";
import { type Asked, type Mounts, mostBodyBytes, mountsOf } from "./mounts.ts";
import { json, notFound, page, plain, respond } from "./responses.ts";
import type { Settings, Visitor } from "./settings.ts";

export type { Visitor };

/** Options of `inboxDashboard`. */
export interface DashboardOptions {
  /**
   * Says who looks at the dashboard, for each request. Null is answered 404, and an error 500. `native` is the framework's own request (of
   * Hono: the context), whose middleware may know the user; undefined if the dashboard is called with only a fetch `Request`.
   */
  authorize(request: Request, native?: unknown): Awaitable<Visitor | null>;
  /** The name of the environment, such as `"production"`, shown on every view. Default: none. */
  title?: string;
  /** The colour of the title: a CSS hex colour, such as `"#b42318"`. Default: a neutral one. */
  color?: string;
  /** The catalog, whose types are offered as filters. Default: the eSIM catalog. */
  catalog?: {
    /** All event types that it has a schema for. */
    readonly types: readonly string[];
  };
  /** The key store of the receiver, to show its keys by their fingerprints. Default: only keys that verified the newest events are shown. */
  keys?: Settings["keys"];
  /** A client of the partner API, for the view of endpoints. Default: no such view. */
  client?: Settings["client"];
  /** The handlers of the workers, to compare with what the endpoints are subscribed to. None of them is called. Default: not compared. */
  handlers?: Settings["handlers"];
  /** The state store that `watchDrift` of core writes, to mark the types whose events differ from the catalog. Default: none is marked. */
  drift?: Settings["drift"];
  /** Gets a line for each action of an operator, with the operator's name, and for errors. Default: silent. */
  logger?: Logger;
}

/** Answers the requests of the page. It derives its own path from that of the request. */
export interface Dashboard extends Mounts {
  /** For fetch: Next.js, Bun, Deno. */
  (request: Request): Promise<Response>;
}

const anObject = <Value>(expected: string): z.ZodMiniCustom<Value, Value> =>
  z.custom<Value>((value) => typeof value === "object" && value !== null, expected);

type DashboardSettings = Omit<Settings, "inbox"> & Pick<DashboardOptions, "authorize">;

const dashboardShape: OptionsShape<DashboardSettings> = {
  authorize: z.custom<DashboardOptions["authorize"]>(
    (value) => typeof value === "function",
    "expected a function that gives { role, name }, or null",
  ),
  title: z.optional(z.string().check(z.minLength(1), z.maxLength(40))),
  color: z.optional(z.string().check(z.regex(/^#[0-9a-f]{6}$/i, "expected a colour such as #b42318"))),
  catalog: z._default(anObject<Settings["catalog"]>("expected a catalog: use defineCatalog"), esimCatalog),
  keys: z.optional(withMethods<NonNullable<Settings["keys"]>>("read")),
  client: z.optional(anObject<NonNullable<Settings["client"]>>("expected a client of createClient")),
  handlers: z.optional(anObject<NonNullable<Settings["handlers"]>>("expected the map of handlers")),
  drift: z.optional(withMethods<NonNullable<Settings["drift"]>>("read")),
  logger: z._default(loggerOption, silentLogger),
};

/**
 * Makes the dashboard of an inbox: `app.use("/webhooks-inbox", inboxDashboard(inbox, { authorize }).node)`.
 *
 * It serves the page and its calls below any path. If `authorize` gives null, every answer is a 404. Throws `invalid_option`, also for an
 * inbox without the role `admin`.
 */
export function inboxDashboard(inbox: InboxAdmin, options: DashboardOptions): Dashboard {
  const { authorize, ...rest } = parseOptions<DashboardSettings>("inboxDashboard", dashboardShape, options);
  if (typeof inbox !== "object" || inbox === null || !hasRole(inbox, "admin")) {
    throw new WebhookError(
      "invalid_option",
      "the inbox has no role for operators.",
      "Pass an inbox such as sqliteInbox, postgresInbox or bullmqInbox.",
      { where: "inboxDashboard" },
    );
  }
  const settings: Settings = { inbox, ...rest };

  async function answer(asked: Asked): Promise<Response> {
    let visitor: Visitor | null;
    try {
      visitor = checkedVisitor(await authorize(asked.request, asked.native));
    } catch (err) {
      warnOfSetup(
        settings.logger,
        "authorize_failed",
        "The dashboard's authorize function threw, or did not give { role, name } or null, so the request was answered 500. Fix the function.",
        err,
      );
      return plain(500, "Internal Server Error");
    }
    try {
      return visitor === null ? notFound() : await route(settings, visitor, asked);
    } catch (err) {
      settings.logger.error({ err, code: "internal_error" }, "The dashboard could not answer a request.");
      return plain(500, "Internal Server Error");
    }
  }

  const busy = () => plain(503, "Too Many Requests In Progress", { "retry-after": "1" });
  const { fetch, ...mounts } = mountsOf(answer, busy);
  return Object.assign((request: Request) => fetch({ request }), mounts);
}

const visitorShape = z.nullable(
  z.object({
    role: z.enum(["viewer", "operator"]),
    name: z.string().check(z.minLength(1), z.maxLength(200)),
  }),
);

/** Throws unless it is a visitor or null: for example undefined, from a function without a return. */
function checkedVisitor(given: Visitor | null): Visitor | null {
  return visitorShape.parse(given);
}

/** Answers by the end of the path: what is before it is where the dashboard is mounted. */
async function route(
  settings: Settings,
  visitor: Visitor,
  { request, encodings = "" }: Asked,
): Promise<Response> {
  const { pathname } = new URL(request.url);
  const call = /\/api\/([^/]+)$/.exec(pathname)?.[1];
  const isPost = request.method === "POST";
  if (call !== undefined && isPost) return answerCall(settings, visitor, call, request);
  if (call !== undefined && isCall(call)) return plain(405, "Method Not Allowed", { allow: "POST" });
  if (request.method !== "GET" && request.method !== "HEAD")
    return plain(405, "Method Not Allowed", { allow: "GET, HEAD" });
  if (pathname.endsWith("/")) return respond(200, "text/html; charset=utf-8", page);
  const [, folder, last = ""] = /(?:\/(assets))?\/([^/]+)$/.exec(pathname) ?? [];
  return folder === undefined ? plain(307, "", { location: `./${last}/` }) : asset(last, encodings);
}

async function asset(name: string, encodings: string): Promise<Response> {
  const found = await assetOf(name);
  if (found === undefined) return notFound();
  const encoding = encodingOf(encodings);
  return respond(200, found.type, found.bodies[encoding], {
    vary: "accept-encoding",
    ...(encoding !== "identity" && { "content-encoding": encoding }),
  });
}

async function answerCall(
  settings: Settings,
  visitor: Visitor,
  name: string,
  request: Request,
): Promise<Response> {
  try {
    checkOrigin(request);
    const input = jsonOf(await boundedText(request));
    return json(200, await callOf(settings, visitor, name, input));
  } catch (err) {
    const { status, failure } = failureOf(err);
    const facts = { code: failure.code, call: isCall(name) ? name : "unknown" };
    if (status === 500 || status === 503)
      settings.logger.error({ err, ...facts }, "A call of the dashboard has failed.");
    if (status === 403)
      settings.logger.warn({ ...facts, by: visitor.name }, "The dashboard has refused a call.");
    return json(status, failure);
  }
}

/**
 * Throws `not_from_the_page` for a call that another site's page could send. Behind a proxy, the host of the request may not be that of the
 * page: so the browser's `sec-fetch-site`, if it is sent, is decisive.
 */
function checkOrigin({ headers, url }: Request): void {
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  const isOfPage = site !== null ? site === "same-origin" : origin === null || hostOf(origin) === hostOf(url);
  const isJson = /^application\/json\s*(?:;|$)/i.test(headers.get("content-type") ?? "");
  if (isOfPage && isJson && headers.get("x-esim-webhooks-dashboard") === "1") return;
  throw refused(
    "not_from_the_page",
    "The call does not come from the dashboard's own page.",
    "Open the dashboard in the browser. Behind a proxy without https, pass on the Host header of the browser. A program sends content-type: application/json and x-esim-webhooks-dashboard: 1.",
  );
}

function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).host : undefined;
}

async function boundedText({ body }: Request): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > mostBodyBytes) {
      throw refused("body_too_large", "The call has more than 64 kB.", "Choose fewer types to filter by.");
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refused("invalid_call", "The body of the call is not JSON.", "Reload the page.");
  }
}

import { discardRest, type Logger, type Receiver, receiveRequest, watchMisses } from "@esim-webhooks/core";
import type { FastifyInstance, RouteOptions } from "fastify";

/**
 * Routes the requests for `path` to a receiver, and those below it if it has `endpoints`. Answers before Fastify reads the body, so that no
 * content-type parser runs. Other methods than POST are 405, unless the app has a route for them. A signed delivery to another
 * path that is answered 404 is a warning, once.
 */
export function addWebhookRoute(
  app: FastifyInstance,
  receiver: Receiver,
  path: string,
  logger?: Logger,
): void {
  const mount = `${app.prefix}${path}`;
  const route: Pick<RouteOptions, "onRequest" | "handler"> = {
    onRequest(request, reply) {
      receiveRequest(receiver, request.raw, pathBelow(mount, request.raw.url))
        .then(({ status, headers, body }) => {
          discardRest(request.raw, receiver.closing);
          reply.code(status).headers(headers).send(body);
        })
        .catch((error) => reply.send(error));
    },
    handler: async () => {},
  };
  const below = receiver.hasEndpoints ? [`${path.replace(/\/$/, "")}/*`] : [];
  const urls = [...spellingsOf(path, app), ...below];
  for (const url of urls) {
    const isFree = (method: string) => !app.hasRoute({ method, url: `${app.prefix}${url}` });
    const others = app.supportedMethods.filter((method) => method !== "POST" && isFree(method));
    app.route({ ...route, method: ["POST", ...others], url });
  }
  const watchMiss = watchMisses(logger);
  const ownUrls = new Set(urls.map((url) => `${app.prefix}${url}`));
  app.server.on("request", (request, response) => {
    if (!ownUrls.has(request.url ?? "")) watchMiss(request, response, mount);
  });
}

/** Fastify 5 has moved the option. */
interface RouterConfig {
  readonly ignoreTrailingSlash?: boolean;
  readonly routerOptions?: { readonly ignoreTrailingSlash?: boolean };
}

/** The path with and without a slash at its end, unless the app takes both for one already. */
function spellingsOf(path: string, { initialConfig }: FastifyInstance): readonly string[] {
  const { ignoreTrailingSlash, routerOptions } = initialConfig as RouterConfig;
  if (path === "/" || ignoreTrailingSlash || routerOptions?.ignoreTrailingSlash) return [path];
  const bare = path.replace(/\/$/, "");
  return [bare, `${bare}/`];
}

/** What a URL has below a mount, whose segments may be parameters: as it was sent, since those of Fastify are decoded. */
function pathBelow(mount: string, url = ""): string {
  const segments = mount.split("/").filter((segment) => segment !== "").length;
  const [path = ""] = url.split("?", 1);
  return `/${path
    .split("/")
    .slice(segments + 1)
    .join("/")}`;
}

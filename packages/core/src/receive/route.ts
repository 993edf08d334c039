import type { ServerResponse } from "node:http";
import { WebhookError } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import type { Receiver } from "./delivery.ts";
import { type NodeRequest, receiveRequest, watchMisses, writeReply } from "./node.ts";
import { targetPath } from "./target-path.ts";

/** Where a host has mounted an adapter, and the rest of the request's path. The fields have the names that they have in Express. */
export interface MountedPath {
  /** The path at which the host has mounted the adapter. Empty: at the root. */
  readonly baseUrl: string;
  /** The path below `baseUrl`, without the query. */
  readonly path: string;
}

/** Middleware that answers the requests of one receiver, and passes on all others. Default of `mounted`: mounted at the root. */
export type Route = (
  request: NodeRequest,
  response: ServerResponse,
  next: (error?: unknown) => void,
  mounted?: MountedPath,
) => void;

/**
 * Checks that a path has no pattern, so that it can be compared with the paths of requests. Throws `invalid_option`.
 * @param where the adapter
 * @param path the path that the user of the adapter passed
 * @param otherwise what else that user can do: the end of a sentence
 */
export function checkPlainPath(where: string, path: unknown, otherwise: string): asserts path is string {
  if (typeof path === "string" && /^\/[\w\-./~%@]*$/.test(path)) return;
  throw new WebhookError(
    "invalid_option",
    "the path is not a plain path.",
    `Write a path that starts with "/" and has no pattern, such as "/webhooks", or ${otherwise}.`,
    { where, option: "path" },
  );
}

/**
 * Serves a receiver at `path` below the place where a host mounts the route, or at that place if it ends with `path`. Ignores case and a trailing
 * slash. A receiver with `endpoints` also gets the requests below. Warns once of a signed delivery that was passed on and answered 404.
 */
export function createRoute(receiver: Receiver, path: string, logger?: Logger): Route {
  const { closing, hasEndpoints } = receiver;
  const endpoint = normalise(path);
  const below = endpoint === "/" ? endpoint : `${endpoint}/`;
  const watchMiss = watchMisses(logger);
  const isEndpoint = (baseUrl: string) => normalise(baseUrl).endsWith(endpoint);
  /** The path below that of the receiver; undefined if the request is not for the receiver. */
  const pathBelow = ({ baseUrl, path: requested }: MountedPath): string | undefined => {
    if (normalise(requested) === endpoint) return "/";
    if (hasEndpoints && requested.toLowerCase().startsWith(below)) return requested.slice(below.length - 1);
    return isEndpoint(baseUrl) && (requested === "/" || hasEndpoints) ? requested : undefined;
  };
  return (request, response, next, mounted = { baseUrl: "", path: pathOf(request) }) => {
    const found = pathBelow(mounted);
    if (found === undefined) {
      const { baseUrl } = mounted;
      watchMiss(request, response, isEndpoint(baseUrl) ? baseUrl : `${baseUrl}${path}`);
      return next();
    }
    receiveRequest(receiver, request, found)
      .then((reply) => writeReply(response, reply, closing))
      .catch(next);
  };
}

function pathOf({ url = "" }: NodeRequest): string {
  return targetPath(url).split("?", 1)[0] as string;
}

/** In lower case and without a trailing slash: the routes of Express and Nest ignore both. */
function normalise(path: string): string {
  return path.toLowerCase().replace(/(?<=.)\/$/, "");
}

import type { MiddlewareHandler } from "hono";
import { errorAnswer } from "./errors.ts";

const ownNames: readonly string[] = ["127.0.0.1", "localhost", "[::1]"];

/**
 * Lets in what this machine asks for under a loopback name. A web page on the internet can make a browser send requests
 * here, also under a name of its own that leads to 127.0.0.1 (DNS rebinding): its Host or its Origin gives it away. A delivery is refused, too: its endpoint has the wrong URL.
 */
export const guard: MiddlewareHandler = async (c, next) => {
  const host = c.req.header("host") ?? "";
  if (!ownNames.includes(hostnameOf(host)))
    return errorAnswer(
      403,
      "foreign_host",
      `The control side has no name "${host}". Call it at 127.0.0.1 or localhost.`,
    );
  const origin = c.req.header("origin");
  if (origin !== undefined && origin !== `http://${host}`)
    return errorAnswer(
      403,
      "foreign_origin",
      `Pages of ${origin} may not use the control side. Open its own page, or call it from a program.`,
    );
  if (c.req.header("webhook-signature") !== undefined)
    return errorAnswer(
      421,
      "misdirected_delivery",
      "A delivery has arrived at the control side of the sandbox. Register the URL of your receiver for the endpoint, such as http://127.0.0.1:3000/webhooks.",
    );
  return next();
};

function hostnameOf(host: string): string {
  return URL.parse(`http://${host}`)?.hostname ?? "";
}

import { once } from "node:events";
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { loggerWith } from "../../../../test/support/loggers.ts";
import { listen } from "../../src/serve/serve.ts";

const keepAliveMs = 75_000;
const logger = loggerWith();

it("serve passes on a target in absolute form by its path, as RFC 9112 obliges servers to", async () => {
  const receive = ({ url }: IncomingMessage, response: ServerResponse) => void response.end(url);
  const at = { host: "127.0.0.1", port: 0, path: "/webhooks", isPrefix: true, keepAliveMs, logger };
  const { url, server } = await listen(receive as never, at);
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  for (const target of ["/webhooks/acme?try=2", "http://host/webhooks/acme?try=2", `${url}/webhooks/acme/`]) {
    const sent = request(url, { method: "POST", path: target }).end();
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    expect(answer.headers["keep-alive"]).toBe("timeout=75"); // load balancers keep connections for 60 s
    answer.setEncoding("utf8");
    expect([target, answer.statusCode, (await answer.toArray()).join("")]).toEqual([target, 200, "/acme"]);
  }
});

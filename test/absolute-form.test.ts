import { request } from "node:http";
import { newSecret } from "@esim-webhooks/core/testing";
import { expect, it } from "vitest";
import { loggerWith } from "./support/loggers.ts";
import { signedDelivery } from "./support/signed-delivery.ts";
import { type Transport, transports } from "./transports.ts";

const secret = newSecret();
const logger = loggerWith();

// a bare Request is made by its user, from a URL
const doors = (Object.keys(transports) as Transport[]).filter((door) => !door.includes("bare Request"));

it.each(doors)(
  "%s finds the endpoint of a target in absolute form, as RFC 9112 obliges servers to",
  async (door) => {
    const endpoints = (path: string) =>
      ["/acme", "/webhooks/acme"].includes(path) ? { source: "acme", secret } : null;
    const server = await transports[door]({ "*": () => {} }, { endpoints, logger }, async () => {});
    try {
      const path = `${server.url.replace(/\/$/, "")}/acme`;
      const { method, headers, body } = signedDelivery(secret, { type: "esim.enabled" });
      const status = await new Promise((resolve, reject) => {
        request(server.url, { method, headers: { ...headers, connection: "close" }, path })
          .on("error", reject)
          .on("response", (response) => resolve(response.resume().statusCode))
          .end(body);
      });
      expect(status).toBe(200);
    } finally {
      await server.close();
    }
  },
);

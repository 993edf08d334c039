import { expect, it } from "vitest";
import { addClient } from "../../src/account/clients.ts";
import { clientOfToken, issueToken } from "../../src/account/tokens.ts";
import { dayMs, testService } from "../service.ts";

it("issues tokens that belong to the client for 24 hours", () => {
  const service = testService();
  const { clientId, clientSecret } = addClient(service);
  const { accessToken, expiresInSeconds } = issueToken(service, clientId, clientSecret);
  expect(expiresInSeconds).toBe(86_400);
  service.pass(dayMs - 1);
  expect(clientOfToken(service, accessToken)).toBe(clientId);
  service.pass(1);
  expect(clientOfToken(service, accessToken)).toBeUndefined();
});

it("leaves earlier tokens valid", () => {
  const service = testService();
  const { clientId, clientSecret } = addClient(service);
  const first = issueToken(service, clientId, clientSecret);
  issueToken(service, clientId, clientSecret);
  expect(clientOfToken(service, first.accessToken)).toBe(clientId);
});

it("refuses a secret that is wrong and a client that there is not, with the same words", () => {
  const service = testService();
  const { clientId, clientSecret } = addClient(service);
  const refusal = expect.objectContaining({
    code: "bad_credentials",
    message: expect.stringContaining("No client has this client_id and client_secret"),
  });
  expect(() => issueToken(service, clientId, "wrong")).toThrow(refusal);
  expect(() => issueToken(service, "000000", clientSecret)).toThrow(refusal);
});

it("keeps no token as it is, and none that has expired", () => {
  const service = testService();
  const { clientId, clientSecret } = addClient(service);
  const first = issueToken(service, clientId, clientSecret);
  expect(JSON.stringify(service.db.all("select * from tokens"))).not.toContain(first.accessToken);
  service.pass(dayMs);
  issueToken(service, clientId, clientSecret);
  expect(service.db.all("select * from tokens")).toHaveLength(1);
});

import { expect, it } from "vitest";
import { endpoint, givenApi } from "./given-api.ts";

it("answers 404 at a path that is not of the API, and 405 with the methods of one that is", async () => {
  const { call } = givenApi();
  expect((await call("GET /nowhere")).status).toBe(404);
  const wrong = await call("PUT /management/webhooks", endpoint);
  expect(wrong.status).toBe(405);
  expect(wrong.headers.get("allow")).toBe("POST, GET");
});

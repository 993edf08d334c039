import { expect, test } from "vitest";
import { createSentRequests } from "../../src/sender/sent-requests.ts";

test("keeps the latest request of each of the thousand deliveries that were sent last", () => {
  const sent = createSentRequests();
  const request = (attempt: number) => ({ headers: { attempt: String(attempt) }, sentAt: attempt });
  for (let sequence = 1; sequence <= 1000; sequence++)
    sent.keep({ sequence: sequence, number: 1 }, request(1));
  sent.keep({ sequence: 1, number: 2 }, request(2));
  expect(sent.of(1)).toEqual({ request: request(2), attempts: [] });
  for (let sequence = 1001; sequence <= 1999; sequence++)
    sent.keep({ sequence: sequence, number: 1 }, request(1));
  expect(sent.of(1)).toEqual({ request: request(2), attempts: [] });
  expect(sent.of(2)).toBeUndefined();
  sent.keep({ sequence: 2000, number: 1 }, request(1));
  expect(sent.of(1)).toBeUndefined();
});

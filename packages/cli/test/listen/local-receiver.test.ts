import { expect, it } from "vitest";
import { localReceiver } from "../../src/listen/listen.ts";

it.each(["http://localhost:3000/webhooks", "https://127.0.0.2/", "http://[::1]:3000"])(
  "posts to %s",
  (url) => {
    expect(localReceiver(url, false)).toBe(url);
  },
);

it("posts to another machine only if that is allowed", () => {
  const url = "http://192.168.1.20:3000/webhooks";
  expect(() => localReceiver(url, false)).toThrow(
    "--to names another machine, 192.168.1.20, and the events have personal data of real people. Name a receiver on localhost, or add --allow-remote if that machine may have the events.",
  );
  expect(() => localReceiver("https://localhost.example/", false)).toThrow("--to names another machine");
  expect(localReceiver(url, true)).toBe(url);
});

it("says how to write a URL", () => {
  expect(() => localReceiver("localhost:3000", false)).toThrow(
    '"localhost:3000" is not an http or https URL. Write it like http://127.0.0.1:3000/webhooks.',
  );
});

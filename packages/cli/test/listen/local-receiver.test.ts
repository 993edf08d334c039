import { expect, it } from "vitest";
import { refuseRemote } from "../../src/listen/listen.ts";
import { receiverUrl } from "../../src/send/receiver-url.ts";

it.each(["http://localhost:3000/webhooks", "https://127.0.0.2/", "http://[::1]:3000"])("posts to %s", (url) =>
  expect(() => refuseRemote(url)).not.toThrow(),
);

it("posts to another machine only if that is allowed", () => {
  expect(() => refuseRemote("http://192.168.1.20:3000/webhooks")).toThrow(
    "--to names another machine, 192.168.1.20, and the events have personal data of real people. Name a receiver on localhost, or add --allow-remote if that machine may have the events.",
  );
  expect(() => refuseRemote("https://localhost.example/")).toThrow("--to names another machine");
});

it("says how to write a URL", () => {
  expect(() => receiverUrl("localhost:3000", "--to")).toThrow(
    '"localhost:3000" is not an http or https URL. Write it like http://127.0.0.1:3000/webhooks.',
  );
});

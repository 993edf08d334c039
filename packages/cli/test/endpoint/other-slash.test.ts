import { isSameUrl } from "@esim-webhooks/endpoint";
import { expect, it } from "vitest";
import { differsInSlash } from "../../src/endpoint/ensure.ts";

it("knows URLs that are one, and those that only a slash at the end makes two", () => {
  const url = "https://shop.example/webhooks";
  expect(isSameUrl(url, "https://SHOP.example:443/webhooks")).toBe(true);
  expect(isSameUrl(url, `${url}/`)).toBe(false);
  expect(differsInSlash(url, `${url}/`)).toBe(true);
  expect(differsInSlash(`${url}/?a=1`, `${url}?a=1`)).toBe(true);
  expect(differsInSlash(url, url)).toBe(false);
  expect(differsInSlash("https://shop.example", "https://shop.example/")).toBe(false); // one URL
  expect(differsInSlash(url, "https://shop.example/webhooks/other")).toBe(false);
});

import { expect, it } from "vitest";
import { differsInSlash, endpointUrl, isSameUrl } from "../../src/api/endpoint-url.ts";

it("takes http and https, and says how to write a URL", () => {
  expect(endpointUrl("http://127.0.0.1:3000/webhooks")).toBe("http://127.0.0.1:3000/webhooks");
  for (const wrong of ["localhost/webhooks", "localhost:3000/webhooks", "shop", ""])
    expect(() => endpointUrl(wrong)).toThrow(
      `"${wrong}" is not an http or https URL. Write it like https://shop.example/webhooks.`,
    );
});

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

import { expect, it } from "vitest";
import { endpointUrl } from "../../src/send/receiver-url.ts";

it("takes http and https, and says how to write a URL", () => {
  expect(endpointUrl("http://127.0.0.1:3000/webhooks")).toBe("http://127.0.0.1:3000/webhooks");
  for (const wrong of ["localhost/webhooks", "localhost:3000/webhooks", "shop", ""])
    expect(() => endpointUrl(wrong)).toThrow(
      `"${wrong}" is not an http or https URL. Write it like https://shop.example/webhooks.`,
    );
});

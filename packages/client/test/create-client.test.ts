import { createClient } from "@esim-webhooks/client";
import { afterEach, describe, expect, it, vi } from "vitest";
import { scriptService } from "./script-service.ts";
import { credentials } from "./scripted-client.ts";

afterEach(() => vi.unstubAllEnvs());

describe("createClient", () => {
  it("goes by a clock that does not jump: the machine's time may be set, and no token, limit or time-out changes", async () => {
    const service = scriptService();
    const api = createClient({ ...credentials, fetch: service.fetch, timeoutMs: 60_000 });
    await api.client.get().catch(() => {});
    for (const years of [1, -1]) {
      const now = Date.now() + years * 365 * 24 * 60 * 60 * 1000;
      const clock = vi.spyOn(Date, "now").mockReturnValue(now);
      await Promise.all(Array.from({ length: 3 }, () => api.request("GET", "/")));
      clock.mockRestore();
    }
    expect(service.tokens).toBe(1);
    expect(service.seen).toHaveLength(7);
  });

  it("takes address and credentials from the environment", () => {
    vi.stubEnv("ESIM_API_URL", credentials.baseUrl);
    vi.stubEnv("ESIM_CLIENT_ID", "123456");
    vi.stubEnv("ESIM_CLIENT_SECRET", "secret");
    expect(() => createClient()).not.toThrow();
  });

  it.each([
    ["baseUrl", "ESIM_API_URL"],
    ["clientId", "ESIM_CLIENT_ID"],
    ["clientSecret", "ESIM_CLIENT_SECRET"],
  ])("without %s says so at once, and names %s", (option, variable) => {
    vi.stubEnv(variable, "");
    expect(() => createClient({ ...credentials, [option]: undefined })).toThrow(
      expect.objectContaining({ code: "invalid_option", message: expect.stringContaining(variable) }),
    );
  });

  it.each([
    ["api.test/api/v3", "is not a URL"],
    ["http://api.test/api/v3", "begins with http://"],
    ["https://user:pass@api.test/api/v3", "has a user"],
    ["https://api.test/api/v3?x=1", "has a user, a query or a fragment"],
    ["ftp://localhost/api/v3", "begins with ftp://"],
  ])("refuses the base URL %s", (baseUrl, problem) => {
    expect(() => createClient({ ...credentials, baseUrl })).toThrow(problem);
  });

  it.each([
    "http://localhost:8080/api/v3",
    "http://127.0.0.1:1/api/v3",
    "http://[::1]:1/api/v3",
    "https://api.test/api/v3/",
  ])("takes the base URL %s", (baseUrl) => {
    expect(() => createClient({ ...credentials, baseUrl })).not.toThrow();
  });

  it("refuses an option that does not exist, and values that cannot be right, without quoting a secret", () => {
    const options = { ...credentials, timeOutMs: 1, maxAttempts: 0, limiter: {}, clientSecret: 5 };
    expect(() => createClient(options as never)).toThrow(
      expect.objectContaining({
        code: "invalid_option",
        message: expect.stringMatching(/"clientSecret".*"maxAttempts".*"limiter".*Did you mean "timeoutMs"/s),
      }),
    );
  });
});

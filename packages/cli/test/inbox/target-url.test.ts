import { describe, expect, it } from "vitest";
import { targetUrl } from "../../src/inbox/copy.ts";

describe("the Postgres to copy to", () => {
  it.each([
    ["--to", "postgres://me@db:5432/webhooks", {}],
    [
      "--to, which takes precedence over DATABASE_URL",
      "postgresql:///webhooks",
      { DATABASE_URL: "postgres://other/db" },
    ],
  ])("is %s", (_name, to, environment) => {
    expect(targetUrl(to, environment)).toBe(to);
  });

  it("is DATABASE_URL without --to, which may contain a password", () => {
    const url = "postgres://me:hunter2@db/webhooks";
    expect(targetUrl(undefined, { DATABASE_URL: url })).toBe(url);
  });

  it.each([
    ["nothing names one", undefined, {}, "There is no Postgres to copy to. Set DATABASE_URL, or"],
    ["DATABASE_URL is empty", undefined, { DATABASE_URL: "" }, "There is no Postgres to copy to."],
    [
      "--to contains a password",
      "postgres://me:hunter2@db/x",
      {},
      "--to contains a password, which other processes can read. Set",
    ],
    ["--to contains one as a parameter", "postgres://db/x?password=hunter2", {}, "--to contains a password"],
    [
      "--to is no URL",
      "me:hunter2@db",
      {},
      "--to is not a postgres:// URL. Write postgres://user@host:port/database.",
    ],
    ["--to is another URL", "mysql://db/x", {}, "--to is not a postgres:// URL."],
    [
      "DATABASE_URL is another URL",
      undefined,
      { DATABASE_URL: "mysql://me:hunter2@db" },
      "DATABASE_URL is not a postgres:// URL.",
    ],
  ])("is refused where %s", (_name, to, environment, says) => {
    expect(() => targetUrl(to, environment)).toThrow(says);
    expect(() => targetUrl(to, environment)).not.toThrow("hunter2");
  });
});

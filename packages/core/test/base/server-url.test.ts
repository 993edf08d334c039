import { describe, expect, it } from "vitest";
import { addressText, isServerUrl } from "../../src/base/server-url.ts";

const protocols = ["postgres:", "redis:"] as const;

describe("isServerUrl", () => {
  it.each([
    "postgres://db",
    "postgres://me:secret@db:5432/shop",
    "postgres://me:p%2Fw@[::1]:5432/shop?sslmode=require",
    "postgres:///shop",
    "postgres://me@/shop?host=/var/run/postgresql",
    "postgres://%2Fvar%2Frun/shop",
    "postgres://me:two@signs@db/shop",
    "redis://:secret@cache/3",
  ])("takes %s", (url) => {
    expect(isServerUrl(url, ...protocols)).toBe(true);
  });

  it.each([
    ["text", "secret"],
    ["no protocol", "me:secret@db"],
    ["another protocol", "mysql://me:secret@db"],
    ["the form of libpq", "host=db password=secret"],
    ["a port that is too high", "redis://me:secret@cache:99999"],
    ["a port that is a word", "postgres://me:secret"],
    ["a slash in a password that looks like a port", "postgres://me:1/secret@db/shop"],
    ["a question mark in such a password", "postgres://me:1?secret@db/shop"],
    ["a number sign in such a password", "redis://me:1#secret@cache"],
  ])("does not take %s", (_name, url) => {
    expect(isServerUrl(url, ...protocols)).toBe(false);
  });
});

describe("addressText", () => {
  it.each([
    ["db:5432/shop", { host: "db", port: 5432, database: "shop" }],
    ["db/2", { host: "db", database: 2 }],
    ["/run/redis.sock", { host: "/run/redis.sock", database: 0 }],
    ["/shop", { port: undefined, database: "shop" }],
    ["", {}],
  ])("says %s", (text, address) => {
    expect(addressText(address)).toBe(text);
  });

  it.each([
    ["a URL as the host", { host: "redis://:hidden@cache:6379", port: 6379 }],
    ["such a URL without its protocol", { host: "me:hidden@db", port: 5432, database: "shop" }],
    ["a URL as the database", { host: "db", database: "postgres://me:hidden@db/shop" }],
  ])("does not repeat %s", (_name, address) => {
    expect(addressText(address)).toBe("an address that is a URL");
  });
});

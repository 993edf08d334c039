import { isServerUrl } from "@esim-webhooks/core/kit";
import { describe, expect, it } from "vitest";

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

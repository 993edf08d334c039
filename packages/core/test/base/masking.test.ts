import { describe, expect, it } from "vitest";
import { maskField, maskPersonalData, maskSecrets } from "../../src/base/masking.ts";

describe("maskSecrets", () => {
  it.each([
    ["Invalid URL redis://me:hunter2@cache:99999.", "Invalid URL redis://me:•••@cache:99999."],
    ["redis://:hunter2@cache/3", "redis://:•••@cache/3"],
    ["postgres://me:hun/ter?2#@x@db:5432/shop", "postgres://me:•••@db:5432/shop"],
    ["postgres://me:hunter2", "postgres://me:•••"],
    ["input: 'postgres://me:hunter2@db:port/shop',", "input: 'postgres://me:•••@db:port/shop',"],
    ["file:///srv/app.js:3,redis://me:hunter2@cache", "file:///srv/app.js:3,redis://me:•••@cache"],
    ["host=db password=hunter2 user=me", "host=db password=••• user=me"],
    ["password = 'hunter 2' user=me", "password = ••• user=me"],
    ["postgres://db/shop?user=me&password=hunter2&ssl=1", "postgres://db/shop?user=me&password=•••&ssl=1"],
    ["PGPASSWORD=hunter2 psql", "PGPASSWORD=••• psql"],
    ["{ password: 'hunter2', port: 1 }", "{ password: •••, port: 1 }"],
    ["the key whsec_aHVudGVyMmh1bnRlcjI= is old", "the key whsec_••• is old"],
    ["postgres://me@corp:hunter2@db:5432/shop", "postgres://me@corp:•••@db:5432/shop"],
    [`postgres://me:it's"hunter2@db/shop`, "postgres://me:•••@db/shop"],
    ["password=it's,hunter2 user=me", "password=••• user=me"],
    [String.raw`{"password":"hunter\"2","port":1}`, '{"password":•••,"port":1}'],
    ["{ clientSecret: 'hunter2', access_token: \"hunter2\" }", "{ clientSecret: •••, access_token: ••• }"],
    ["POST /token client_id=me&client_secret=hunter2", "POST /token client_id=me&client_secret=•••"],
    ["x-api-key=hunter2", "x-api-key=•••"],
    ["authorization: Bearer eyJhbGciOi.J9.hunter2_x", "authorization: Bearer •••"],
  ])("masks %j", (text, shown) => {
    expect(maskSecrets(text)).toBe(shown);
  });

  it.each([
    "Listening at http://127.0.0.1:3000/webhooks",
    "connect ECONNREFUSED 127.0.0.1:5432",
    "http://[::1]:3000/webhooks",
    "file:///srv/app/esim-webhooks.config.ts:12:3",
    "postgres://me@db:5432/shop",
    "Check the host, the user, the password and the database in DATABASE_URL.",
    "ESIM_WEBHOOK_SECRET: A signing secret begins with whsec_…",
    'give the config a secret, such as secret: fileKeySource("esim.key")',
    "It uses basic authentication, and a bearer token.",
  ])("leaves %j", (text) => {
    expect(maskSecrets(text)).toBe(text);
  });
});

it("masks e-mail addresses, in time that grows with the text, and leaves versions of packages and scopes", () => {
  expect(maskPersonalData("no account for Ada <ada.lovelace+1@mail.example.com>, retry")).toBe(
    "no account for Ada <•••>, retry",
  );
  expect(maskPersonalData("a@b.example;c@d.example")).toBe("•••;•••");
  const harmless = "at kysely@0.29.9 in @esim-webhooks/core, x@y, @example.com";
  expect(maskPersonalData(harmless)).toBe(harmless);
  const long = `${"a".repeat(200_000)}@${"b.".repeat(100_000)}1`;
  expect(maskPersonalData(long)).toBe(long);
});

describe("maskField", () => {
  it("masks a value whose name says that it is a secret, and any secret in another one", () => {
    const fields = {
      password: "hunter2",
      authToken: "hunter2",
      url: "redis://:hunter2@cache",
      key: "key:1a2b3c4d",
    };
    const shown = Object.entries(fields).map(([name, value]) => maskField(name, value));
    expect(shown).toEqual(["•••", "•••", "redis://:•••@cache", "key:1a2b3c4d"]);
  });
});

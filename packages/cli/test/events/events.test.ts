import { readFileSync } from "node:fs";
import { join } from "node:path";
import { esimCatalog } from "@esim-webhooks/core";
import { expect, it } from "vitest";
import { root } from "../../../../test/run.ts";
import { cli } from "../cli.ts";

const file = (name: string) => readFileSync(join(root, "packages/core/events", name), "utf8");

it("events lists every event type with when it is sent", async () => {
  const { code, stdout } = await cli(["events"]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^esim\.assigned +An order has its eSIM, and a device can download it\.$/m);
  const listed = JSON.parse((await cli(["events", "--json"])).stdout);
  expect(listed.map(({ type }: { type: string }) => type)).toEqual(esimCatalog.types);
  const experimental = listed.filter((it: { experimental: boolean }) => it.experimental);
  expect(experimental).toMatchObject([{ type: "esim.faulted" }, { type: "esim.balance.updated" }]);
  expect(stdout.match(/^.*\(experimental\)$/gm)).toHaveLength(2);
});

it("events prints the AsyncAPI document, or the JSON Schema of a type, for other programs to read", async () => {
  expect(await cli(["events", "--asyncapi"])).toMatchObject({ code: 0, stdout: file("asyncapi.json") });
  expect(await cli(["events", "esim.faulted"])).toMatchObject({
    code: 0,
    stdout: file("esim.faulted.schema.json"),
  });
});

it("the files of events name the API's version, mark what is experimental, and have a date-time and whole numbers of any size", () => {
  const document = JSON.parse(file("asyncapi.json"));
  expect(document.info.description).toContain("the API's version 3.8.0");
  const experimental = ["esim.faulted", "esim.balance.updated"];
  for (const type of esimCatalog.types) {
    const schema = JSON.parse(file(`${type}.schema.json`));
    const mark = experimental.includes(type) ? true : undefined;
    for (const marked of [schema, document.components.schemas[type], document.components.messages[type]])
      expect(marked["x-experimental"], type).toBe(mark);
  }
  const { amount, occurredAt } = document.components.schemas["esim.balance.updated"].properties;
  expect(occurredAt).toMatchObject({ format: "date-time" });
  expect(amount).toEqual({ type: "integer", description: expect.any(String) });
});

it("events says what is wrong with a type that it does not know, and with one next to --asyncapi", async () => {
  expect(await cli(["events", "esim.fautled"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      'No documented event type is called "esim.fautled". Did you mean "esim.faulted"?',
    ),
  });
  expect(await cli(["events", "esim.faulted", "--asyncapi"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Give --asyncapi without a type."),
  });
});

import type { EndpointFinding, EndpointFindingCode } from "@esim-webhooks/endpoint";
import { describe, expect, it } from "vitest";
import { explainedFindings, type FindingContext } from "../../src/endpoint/explained-findings.ts";

const url = "https://shop.example/webhooks";
const replace = `esim-webhooks endpoint ensure ${url} --types 'esim.*' --key-file esim.key --replace`;
const rotate = "esim-webhooks rotate --key-file esim.key";

const found = (...codes: EndpointFindingCode[]) =>
  codes.map(
    (code): EndpointFinding => ({
      code,
      about: ["WHE1"],
      problem: "Something is wrong.",
      remedy: "Mend it.",
    }),
  );

const explained = (codes: EndpointFindingCode[], change?: FindingContext["change"]) =>
  explainedFindings(found(...codes), { url, replace, rotate, change });

describe("the findings of endpoint ensure", () => {
  it("have the whole command in their remedy", () => {
    const types: EndpointFindingCode[] = ["inactive", "not_subscribed", "no_handler", "not_wanted"];
    expect(explained(types).map(({ remedy }) => remedy.endsWith(`: ${replace}`))).toEqual(
      types.map(() => true),
    );
    const [noSecret, sameUrl] = explained(["no_secret", "same_url"]);
    expect(noSecret?.remedy).toContain(`Else get another one: ${rotate} --endpoint WHE1`);
    expect(sameUrl?.remedy).toContain("esim-webhooks api endpoints delete <reference>");
    const [retired] = explained(["retired"]);
    expect(retired?.remedy).toContain("esim-webhooks api event-types lists what it offers");
    expect(explained(["not_offered"])).toEqual(found("not_offered"));
  });

  it("are one alone while the endpoint is being replaced: the others would have it disturbed", () => {
    const change = { kind: "replace", url: "https://SHOP.example/webhooks", endpoint: "WHE2" };
    expect(explained(["change_under_way", "same_url", "not_subscribed"], change)).toEqual([
      {
        code: "change_under_way",
        about: ["WHE1"],
        problem: "A replacement of the endpoint at shop.example/webhooks has begun and has not ended.",
        remedy:
          "If it is not running now, run: esim-webhooks endpoint ensure https://SHOP.example/webhooks --replace",
      },
    ]);
  });

  it("name no URL that may have a secret in the command that finishes a change", () => {
    const url = "https://me:hunter2@shop.example/a?token=t0";
    expect(explained(["change_under_way"], { kind: "ensure", url })).toMatchObject([
      {
        problem: "A registration of the endpoint at shop.example/a has begun and has not ended.",
        remedy: "If it is not running now, run: esim-webhooks endpoint ensure <url>",
      },
    ]);
  });

  it("are all there during a rotation, or the replacement of another endpoint", () => {
    const codes: EndpointFindingCode[] = ["change_under_way", "not_subscribed"];
    for (const change of [
      { kind: "rotate", endpoint: "WHE1" },
      { kind: "replace", url: "https://other.example/webhooks" },
    ])
      expect(explained(codes, change).map(({ code }) => code)).toEqual(codes);
    const [rotating] = explained(codes, { kind: "rotate", endpoint: "WHE1" });
    expect(rotating?.remedy).toContain("esim-webhooks rotate --endpoint WHE1");
  });
});

import type { RequestListener, ServerResponse } from "node:http";
import { receiverSuite, type StartServer } from "@esim-webhooks/conformance";
import { createReceiver, nodeHandler } from "@esim-webhooks/core";
import { type Fault, newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { describe, expect, it } from "vitest";
import { listen } from "../../../../test/listen.ts";
import { expectWarnings } from "../../../../test/support/warnings.ts";

expectWarnings("invalid", "no_matching_key", "timestamp_out_of_tolerance");

const secret = newSecret();
const event = { type: "esim.faulted", data: sampleData("esim.faulted") } as const;

describe("signedRequest", () => {
  const expected: Readonly<Record<Fault, string>> = {
    tampered: "no_matching_key",
    stale: "timestamp_out_of_tolerance",
    future: "timestamp_out_of_tolerance",
    wrong_key: "no_matching_key",
    rotated: "processed",
    duplicate: "processed",
    unknown_type: "unknown_type",
    invalid: "invalid",
  };
  it.each(Object.entries(expected))("with the fault %s comes to %s", async (fault, outcome) => {
    const receiver = createReceiver({ "esim.faulted": () => {} }, { secret });
    const send = async () => {
      const { body } = await receiver.receive(signedRequest(event, { secret, fault: fault as Fault }));
      return JSON.parse(body).outcome ?? JSON.parse(body).code;
    };
    expect(await send()).toBe(outcome);
    expect(await send()).toBe(fault === "duplicate" ? "duplicate" : outcome);
  });

  it("says which faults there are", () => {
    const misspelt = { secret, fault: "tamperd" as Fault };
    expect(() => signedRequest(event, misspelt)).toThrow(
      'There is no fault "tamperd". Did you mean "tampered"?',
    );
  });
});

it("sampleData says which event types it has", () => {
  expect(() => sampleData("esim.fault" as "esim.faulted")).toThrow('Did you mean "esim.faulted"?');
});

describe("receiverSuite", () => {
  function casesFor(startServer: StartServer): [string, () => Promise<void>][] {
    const cases: [string, () => Promise<void>][] = [];
    const runner = {
      describe: (_: string, body: () => void) => body(),
      it: (name: string, body: () => Promise<void>) => void cases.push([name, body]),
    };
    receiverSuite("an adapter", startServer, runner);
    return cases;
  }

  it("runs under any runner that has describe and it", async () => {
    const cases = casesFor((target, options, before) => {
      const handler = nodeHandler(target, options);
      const listener: RequestListener = (request, response) =>
        void before().then(() => handler(request, response));
      return listen(listener, "/", handler.close);
    });
    expect(cases.length).toBeGreaterThan(40);
    await Promise.all(cases.map(([, run]) => run()));
  });

  it("fails for an adapter that breaks the contract, such as one that answers 200 to everything", async () => {
    const ok = (_: unknown, response: ServerResponse) => void response.end('{"outcome":"processed"}');
    const cases = casesFor(() => listen(ok, "/", async () => {}));
    const refusal = cases.find(([name]) => name === "answers 405 with Allow to anything but POST");
    await expect(refusal?.[1]()).rejects.toThrow();
  });
});

it("receiverSuite says that it needs a test runner where none is global", () => {
  expect(() => receiverSuite("mine", async () => expect.unreachable())).toThrow(
    /import \{ describe, it \} from "vitest"/,
  );
});

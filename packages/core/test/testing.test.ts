import { createReceiver } from "@esim-webhooks/core";
import { type Fault, newSecret, receiverSuite, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { describe, expect, it } from "vitest";

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
    const receiver = createReceiver({ "*": () => {} }, { secret });
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

it("receiverSuite says that it needs a test runner where none is global", () => {
  expect(() => receiverSuite("mine", async () => expect.unreachable())).toThrow(
    /import \{ describe, it \} from "vitest"/,
  );
});

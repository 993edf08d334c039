import { esimCatalog } from "@esim-webhooks/core";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Refused } from "../src/base/refused.ts";
import type { Service } from "../src/base/service.ts";
import { type Esim, findEsim } from "../src/esim/esim.ts";
import { type Package, packagesOf } from "../src/lifecycle/lifecycle.ts";
import { numbersOf } from "../src/number/number.ts";
import { type PortIn, portInsOf } from "../src/number/port-in.ts";
import { anyOperation, type Operation, portIn } from "./operations.ts";
import { type Emitted, partner } from "./partner.ts";

/** Each is an operation and which of the eSIMs it is done to. */
const sequences = fc.array(fc.tuple(anyOperation, fc.nat({ max: 1 })), { maxLength: 40, size: "max" });

interface Step {
  readonly service: Service;
  readonly before: Esim;
  /** How many packages were active before. */
  readonly activePackages: number;
  readonly after: Esim;
  readonly events: readonly Emitted[];
}

/** Does the operations to two eSIMs. `check` sees each that was not refused; one that was has changed nothing. */
function run(sequence: readonly (readonly [Operation, number])[], check: (step: Step) => void): void {
  const { service, order, events } = partner();
  const esims = [order().esimReference, order({ portIn }).esimReference] as const;
  events();
  for (const [operate, index] of sequence) {
    const esimReference = esims[index] ?? esims[0];
    const before = findEsim(service, esimReference);
    const activePackages = packagesOf(service, esimReference).filter(isActive).length;
    service.pass(1);
    try {
      operate(service, esimReference);
    } catch (error) {
      expect(error).toBeInstanceOf(Refused);
      expect(findEsim(service, esimReference)).toEqual(before);
      expect(events()).toEqual([]);
      continue;
    }
    check({ service, before, activePackages, after: findEsim(service, esimReference), events: events() });
  }
  service.db.close();
}

const isActive = ({ status }: Package) => status === "active";
const isLive = ({ status }: PortIn) =>
  status === "requested" || status === "approved" || status === "scheduled" || status === "cancelling";

describe("after any sequence of operations", () => {
  const always = (check: Parameters<typeof run>[1]) =>
    fc.assert(
      fc.property(sequences, (sequence) => run(sequence, check)),
      { numRuns: 50 },
    );

  test("an eSIM that was terminated is terminated, and a refused operation has changed nothing", () => {
    always(({ before, after, events }) => {
      if (before.lifecycleStatus !== "terminated") return;
      expect(after.lifecycleStatus).toBe("terminated");
      expect(after.network).toBe(before.network);
      for (const { type } of events) expect(type).not.toMatch(/^(?:esim\.lifecycle|package|esim\.mccswitch)/);
    });
  });

  test("an eSIM that is suspended or terminated has no active package", () => {
    always(({ service, after }) => {
      if (after.lifecycleStatus === "active") return;
      for (const { status } of packagesOf(service, after.esimReference)) expect(status).toBe("ended");
    });
  });

  test("an eSIM has at most one live port-in, the newest, and every older one is abandoned", () => {
    always(({ service, after }) => {
      const [newest, ...older] = portInsOf(service, after.esimReference);
      for (const portIn of older) expect([isLive(portIn), portIn.abandoned]).toEqual([false, 1]);
      if (newest && isLive(newest)) expect([newest.abandoned, after.activatedAt]).toEqual([0, null]);
    });
  });

  test("a profile has at most one primary number, and numbers go with their eSIM", () => {
    always(({ service, after }) => {
      const numbers = numbersOf(service, after.esimReference);
      expect(numbers.filter(({ isPrimary }) => isPrimary === 1).length).toBeLessThanOrEqual(1);
      const expected = { active: "active", suspended: "suspended", terminated: "released" };
      for (const { status } of numbers)
        expect([expected[after.lifecycleStatus], "released"]).toContain(status);
    });
  });

  test("the packages have ended before the lifecycle event says that the eSIM is suspended or terminated", () => {
    always(({ before, activePackages, after, events }) => {
      const types = events.map(({ type }) => type);
      const changes = types.filter((type) => type.startsWith("esim.lifecycle."));
      expect(changes.length).toBe(before.lifecycleStatus === after.lifecycleStatus ? 0 : 1);
      if (after.lifecycleStatus === before.lifecycleStatus || after.lifecycleStatus === "active") return;
      expect(types.at(-1)).toBe(`esim.lifecycle.${after.lifecycleStatus}`);
      expect(events).toHaveLength(activePackages + 1);
      for (const { type, data } of events.slice(0, -1)) {
        expect([type, data["reason"]]).toEqual(["package.ended", "removed"]);
      }
    });
  });

  test("an event tells the state before and after as they were", () => {
    always(({ before, after, events }) => {
      for (const { type, data } of events) {
        if (type.startsWith("esim.lifecycle.")) {
          expect(data["previousLifecycleStatus"]).toBe(before.lifecycleStatus);
          expect(data["lifecycleStatus"]).toBe(after.lifecycleStatus);
        }
        if (type === "esim.mccswitch") {
          const [mcc, mnc] = before.network?.split("-") ?? [];
          expect([data["previousMcc"], data["previousMnc"]]).toEqual([mcc, mnc]);
          expect(data["previousCountry"] ?? null).toBe(before.country);
          expect([`${data["newMcc"]}-${data["newMnc"]}`, data["newCountry"] ?? null]).toEqual([
            after.network,
            after.country,
          ]);
          expect(after.network).not.toBe(before.network);
        }
      }
      const hasSwitched = events.some(({ type }) => type === "esim.mccswitch");
      expect(hasSwitched).toBe(after.network !== before.network);
    });
  });

  test("balances add up, and are never below 0", () => {
    always(({ before, after, events }) => {
      const updates = events.filter(({ type }) => type === "esim.balance.updated");
      const change = updates.reduce(
        (sum, { data }) => sum + (data["updateType"] === "credit" ? 1 : -1) * (data["amount"] as number),
        0,
      );
      expect(after.balance).toBe(before.balance + change);
      expect(after.balance).toBeGreaterThanOrEqual(0);
      for (const { data } of updates) expect(data["balanceAfter"]).toBe(after.balance);
    });
  });

  test("every event is one that the eSIM catalog of core takes, or one of those that it does not have", () => {
    always(({ before, events }) => {
      for (const { type, data } of events) {
        const body = JSON.stringify({ type, timestamp: new Date(0).toISOString(), data });
        const parsed = esimCatalog.parse("msg_1", Buffer.from(body));
        expect([type, parsed.kind]).toEqual([
          type,
          /^(?:port_in\.|package\.(?!ended$))/.test(type) ? "unknown" : "known",
        ]);
        const { profileReference, esimReference, iccid } = before;
        expect(data).toMatchObject({ profileReference, esimReference, iccid });
      }
    });
  });
});

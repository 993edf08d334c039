import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createFaults } from "../src/base/faults.ts";
import { Refused } from "../src/base/refused.ts";
import { advance } from "../src/sender/advance.ts";
import { createSender } from "../src/sender/sender.ts";
import { listDeliveries } from "../src/webhook/deliveries.ts";
import { dump } from "../src/webhook/dump.ts";
import { createEndpoint, deleteEndpoint, listEndpoints, setActive } from "../src/webhook/endpoints.ts";
import { eventTypes } from "../src/webhook/event-types.ts";
import { replay } from "../src/webhook/replay.ts";
import { anyOperation, type Operation } from "./operations.ts";
import { partner, refusal } from "./partner.ts";
import { type Got, startEndpoint } from "./sender/endpoint.ts";
import { hourMs } from "./service.ts";

/** An endpoint as it should be. */
interface Expected {
  readonly reference: string;
  readonly path: string;
  state: "active" | "inactive" | "deleted";
  /** How many deliveries it was to get. */
  deliveries: number;
  /** The bodies of those that have had no attempt yet. */
  unsent: string[];
}

/** A partner whose events are sent to a receiver that answers 500 to the first two attempts of each delivery. */
async function startWorld() {
  const { service, clientReference, order, bodies } = partner();
  const attempts = new Map<string, number>();
  const attemptOf = ({ path, headers }: Got) => attempts.get(`${path} ${headers["webhook-id"]}`) ?? 0;
  const firsts: Got[] = [];
  let seen = 0;
  const receiver = await startEndpoint((_n, got) => {
    const attempt = attemptOf(got) + 1;
    attempts.set(`${got.path} ${got.headers["webhook-id"]}`, attempt);
    if (attempt === 1) firsts.push(got);
    return attempt < 3 ? 500 : 200;
  });
  const sender = createSender(service, createFaults(service.random));
  const { esimReference } = order();
  const happened = bodies(); // all events so far
  const endpoints: Expected[] = [];
  const within = (states: readonly Expected["state"][]) =>
    endpoints.filter(({ state }) => states.includes(state));
  const expectDeliveries = (sent: readonly string[]) => {
    for (const endpoint of within(["active"])) {
      endpoint.unsent.push(...sent);
      endpoint.deliveries += sent.length;
    }
  };

  return {
    register() {
      const path = `/webhooks/${endpoints.length}`;
      const url = new URL(path, receiver.url).href;
      const created = createEndpoint(service, clientReference, { url, eventTypes: eventTypes(service) });
      const reference = created.webhookEndpointReference;
      endpoints.push({ reference, path, state: "active", deliveries: 0, unsent: [] });
    },
    change(index: number, state: Expected["state"]) {
      const endpoint = endpoints[index % endpoints.length];
      if (endpoint === undefined) return;
      if (state === "deleted") deleteEndpoint(service, clientReference, endpoint.reference);
      else setActive(service, clientReference, endpoint.reference, state === "active");
      endpoint.state = state;
    },
    emit(operate: Operation) {
      operate(service, esimReference);
      const emitted = bodies();
      happened.push(...emitted);
      expectDeliveries(emitted);
    },
    replay() {
      replay(service, clientReference, { under: "new" });
      expectDeliveries(happened);
    },
    settle: () => sender.settle(),
    pass: (ms: number) => advance(service.clock, sender, ms),

    /** What has come since the last call is what section 3 of the specification lets come. */
    check() {
      const came = receiver.got.slice(seen);
      const first = firsts.splice(0);
      seen = receiver.got.length;
      for (const { path } of came) expect(within(["active"]).map((one) => one.path)).toContain(path);
      for (const { path, unsent } of within(["active"])) {
        const got = first.filter((one) => one.path === path).map(({ body }) => body);
        expect(got.sort()).toEqual(unsent.splice(0).sort());
      }
      expect(listEndpoints(service, clientReference, { limit: 100 }).data.map(shown)).toEqual(
        within(["active", "inactive"])
          .map(({ reference, state }) => [reference, state === "active"])
          .reverse(),
      );
      for (const { reference, deliveries } of within(["active", "inactive"]))
        expect(listDeliveries(service, clientReference, reference, { limit: 1e6 }).data).toHaveLength(
          deliveries,
        );
      for (const { reference } of within(["deleted"])) {
        const only = { webhookEndpointReference: reference };
        const gone = refusal("not_found");
        expect(() => listDeliveries(service, clientReference, reference, { limit: 1 })).toThrow(gone);
        expect(() => replay(service, clientReference, only)).toThrow(gone);
        expect(() => dump(service, clientReference, only)).toThrow(gone);
      }
      const kept = service.db.get<{ count: number }>("select count(*) as count from deliveries");
      const expected = within(["active", "inactive"]).reduce((sum, { deliveries }) => sum + deliveries, 0);
      expect(kept?.count).toBe(expected);
      if (within(["active"]).length === 0) expect(sender.nextDueAt()).toBeUndefined();
      return came.length;
    },

    /** How many deliveries to the active endpoints were not acknowledged. */
    outstanding: () =>
      within(["active"])
        .flatMap(({ reference }) => listDeliveries(service, clientReference, reference, { limit: 1e6 }).data)
        .filter(({ status }) => status !== "delivered").length,

    async [Symbol.asyncDispose]() {
      await sender.close();
      await receiver[Symbol.asyncDispose]();
      service.db.close();
    },
  };
}

const shown = ({
  webhookEndpointReference,
  active,
}: {
  webhookEndpointReference: string;
  active: boolean;
}) => [webhookEndpointReference, active];

type World = Awaited<ReturnType<typeof startWorld>>;
type Act = (world: World) => void;
const named = (name: string, act: Act): Act => Object.assign(act, { toString: () => name });

const changes = fc
  .tuple(fc.nat({ max: 20 }), fc.constantFrom("active", "inactive", "inactive", "deleted"))
  .map(([index, state]) => named(`${index} ${state}`, (world) => world.change(index, state)));
const act = fc.oneof(
  {
    weight: 4,
    arbitrary: anyOperation.map((operate) => named(String(operate), (world) => world.emit(operate))),
  },
  { weight: 3, arbitrary: changes },
  { weight: 1, arbitrary: fc.constant(named("register", (world) => world.register())) },
  { weight: 1, arbitrary: fc.constant(named("replay", (world) => world.replay())) },
);
/** What happens within a turn of the event loop, so that nothing of it is sent in between; and how much time passes after it. */
const steps = fc.array(
  fc.tuple(fc.array(act, { minLength: 1, maxLength: 4 }), fc.constantFrom(0, 0, 29_999, 30_000, hourMs)),
  { maxLength: 12, size: "max" },
);

test("after any sequence of operations, events go to active endpoints alone, and of a deleted one nothing is left", async () => {
  let sent = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      await using world = await startWorld();
      world.register();
      for (const [acts, ms] of sequence) {
        for (const one of acts) possibly(() => one(world));
        await world.settle();
        sent += world.check();
        await world.pass(ms);
        sent += world.check();
      }
      await world.pass(24 * hourMs);
      sent += world.check();
      expect(world.outstanding()).toBe(0);
    }),
    { numRuns: 30 },
  );
  expect(sent).toBeGreaterThan(0);
});

/** Some operations are refused: the eSIM's state, the cap, an endpoint that is deleted. */
function possibly(operation: () => void): void {
  try {
    operation();
  } catch (error) {
    expect(error).toBeInstanceOf(Refused);
  }
}

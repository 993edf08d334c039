// npm run bench -- receive: receive() in the process compared with verify + parse + validate, its floor; and what it keeps in memory.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  createKeyring,
  createReceiver,
  type Delivery,
  esimCatalog,
  memoryStore,
  type OutcomeCode,
  type Receiver,
  sign,
  verify,
} from "@esim-webhooks/core";
import { watchDrift } from "@esim-webhooks/core/drift";
import { newSecret, sampleData } from "@esim-webhooks/core/testing";
import { median } from "./measure.ts";
import { inTurns, line, micros, times } from "./report.ts";

const secret = newSecret();
const keyring = createKeyring(secret);
const perRound = 20_000;
const rounds = 11;
const turns = 300;
const perTurn = 2000;
const inFlight = 20_000;
const ids = 1_000_000;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

interface Signed extends Delivery {
  readonly body: Buffer;
}

let made = 0;
const nextId = () => Buffer.from(`msg_${String(made++).padStart(24, "0")}`).toString("latin1"); // in one piece, as from a request

/** Deliveries of `size` bytes, each with an id of its own. */
function deliveriesOf(size: number, count: number): readonly Signed[] {
  const [key] = keyring.keysAt(Date.now());
  if (key === undefined) throw new Error("no key");
  const bodyOf = (detail: string) =>
    JSON.stringify({
      type: "esim.faulted",
      timestamp: "2026-11-20T12:00:00Z",
      data: { ...sampleData("esim.faulted"), detail },
    });
  const text = bodyOf("x".repeat(Math.max(0, size - bodyOf("").length)));
  return Array.from({ length: count }, () => {
    const body = Buffer.from(text);
    return { method: "POST", headers: { ...sign({ id: nextId(), body }, key) }, body };
  });
}

/** CPU of this thread for one of the deliveries, in µs. */
async function cpuOf(deliveries: readonly Signed[], work: () => Promise<void> | void): Promise<number> {
  collect();
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / deliveries.length;
}

async function receiveAll(
  receiver: Receiver,
  deliveries: readonly Signed[],
  wanted: OutcomeCode,
): Promise<void> {
  for (const delivery of deliveries) {
    const { outcome } = await receiver.receive(delivery);
    if (outcome.code !== wanted) throw new Error(`answered ${outcome.code}, not ${wanted}`);
  }
}

async function cpuBeside(size: number): Promise<void> {
  let deliveries: readonly Signed[] = [];
  let receiver: Receiver;
  const figures = await inTurns(
    {
      floor: () => {
        deliveries = deliveriesOf(size, perRound);
        return cpuOf(deliveries, () => {
          for (const { headers, body } of deliveries) {
            const proof = verify({ headers, body }, keyring);
            if (!proof.ok || esimCatalog.parse(proof.id, body).kind !== "known")
              throw new Error("not verified");
          }
        });
      },
      first: () => {
        receiver = createReceiver({ "*": () => {} }, { secret });
        return cpuOf(deliveries, () => receiveAll(receiver, deliveries, "processed"));
      },
      duplicate: () => cpuOf(deliveries, () => receiveAll(receiver, deliveries, "duplicate")),
      waiting: () => {
        const waiting = createReceiver({ "*": async () => {} }, { secret });
        return cpuOf(deliveries, () => receiveAll(waiting, deliveries, "processed"));
      },
    },
    rounds,
  );
  const floor = median(figures.floor);
  const first = median(figures.first);
  const of = (figure: number, peer: number) => `${micros(figure)}, ${times(figure / peer)}`;
  console.log(`\n${size} bytes, CPU of the main thread`);
  line("verify + parse + validate", micros(floor));
  line("receive(), of that", of(first, floor));
  line("a duplicate, of a first delivery", of(median(figures.duplicate), first), "≤ 1");
  line("receive() with an async handler, of the floor", of(median(figures.waiting), floor));
}

/** Measures in short rounds, with receivers that stay: the difference is smaller than what the machine's speed changes between long ones. */
async function cpuOfDrift(): Promise<void> {
  const drift = watchDrift({ read: async () => undefined, write: async () => true });
  const without = createReceiver({ "*": () => {} }, { secret });
  const watched = createReceiver({ "*": () => {} }, { secret, drift });
  const measure = (receiver: Receiver) => () => {
    const deliveries = deliveriesOf(300, perTurn);
    return cpuOf(deliveries, () => receiveAll(receiver, deliveries, "processed"));
  };
  const figures = await inTurns({ without: measure(without), watched: measure(watched) }, turns);
  line(
    "300 bytes with watchDrift, of without",
    times(median(figures.watched) / median(figures.without)),
    "≤ 1.02",
  );
}

function usedBytes(): number {
  collect();
  collect(); // what the first one found is freed after it
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external; // array buffers are in `external`
}

async function memoryInFlight(): Promise<void> {
  const deliveries = deliveriesOf(300, inFlight);
  const finish = Promise.withResolvers<void>();
  const receiver = createReceiver({ "*": () => finish.promise }, { secret });
  const before = usedBytes();
  const received = deliveries.map((delivery) => receiver.receive(delivery));
  await new Promise(setImmediate);
  line("a delivery in flight, beyond its body", bytes((usedBytes() - before) / inFlight), "≤ 4,000");
  finish.resolve();
  await Promise.all(received);
}

function memoryOfIds(): void {
  const store = memoryStore({ maxEntries: ids + 1 });
  const before = usedBytes();
  let idBytes = 0;
  for (let count = 0; count < ids; count++) {
    const key = { source: "default", id: nextId() };
    const claim = store.claim(key, 30_000, count);
    store.complete(key, "token" in claim ? claim.token : "");
    idBytes += key.id.length;
  }
  line("an id in memoryStore, beyond the id", bytes((usedBytes() - before - idBytes) / ids), "≤ 100");
  store.claim({ source: "default", id: nextId() }, 30_000); // keeps it from being collected before
}

const bytes = (figure: number) => `${Math.round(figure).toLocaleString("en")} B`;

export async function benchReceive(): Promise<void> {
  console.log("\nmemory"); // first: there is no garbage of the other rounds yet
  await memoryInFlight();
  memoryOfIds();
  await cpuOfDrift();
  for (const size of [300, 2_000, 20_000]) await cpuBeside(size);
}

import type { ApiClient } from "@esim-webhooks/client";
import type { HandlerContext, KeyStore, Receiver, WebhookEvent } from "@esim-webhooks/core";
import { newSecret, signedRequest } from "@esim-webhooks/core/testing";
import type { SqliteTransaction } from "@esim-webhooks/store-sqlite";
import { loggerWith } from "../../test/support/loggers.ts";
import { BrokenPromise, type Checks, createChecks } from "./checks.ts";
import { type Break, type Engine, type Stores, serverEngine, sqliteEngine } from "./engines.ts";
import { createFaults, type FaultRates } from "./faults.ts";
import { createNetwork, installSender, type Sent } from "./network.ts";
import { createProcesses, type Process, type Role } from "./process.ts";
import { installPrograms } from "./programs.ts";
import { seededRandom } from "./random.ts";
import { eventTypes, startService } from "./service.ts";
import { installVirtualTime, type Machine, realMs, type VirtualTime } from "./virtual-time.ts";

export interface SimulationOptions {
  readonly seed: number;
  /** How many events the service creates. */
  readonly events: number;
  /** Default: the seed decides. */
  readonly engine?: EngineName | undefined;
  /** A rule that the engine breaks; only with the engine `server`. */
  readonly broken?: Break | undefined;
}

export type EngineName = "server" | "sqlite";

export interface SimulationReport {
  readonly seed: number;
  readonly engine: EngineName;
  readonly rates: FaultRates;
  readonly steps: number;
  readonly virtualMs: number;
  readonly realMs: number;
  /** The same for the same seed, in every process: a hash of all lines of the trace. */
  readonly trace: string;
  readonly counts: Readonly<Record<string, number>>;
  /** The failure that was found, with the last fifty lines of the trace. */
  readonly failure: { readonly message: string; readonly lines: readonly string[] } | undefined;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const epochMs = Date.UTC(2026, 0, 5, 8);

/**
 * Runs the service, receivers, workers, reconcilers and a rotator in this process, on virtual time, with the faults of the seed. Once
 * per process: it replaces the clock, the timers and the random numbers, and that cannot be undone.
 */
export async function simulate({
  seed,
  events,
  engine: wanted,
  broken,
}: SimulationOptions): Promise<SimulationReport> {
  const startedAt = realMs();
  const random = seededRandom(seed);
  const time = installVirtualTime(epochMs, random);
  installPrograms();
  const world = createWorld(time, random, events, wanted, broken);
  let failure: SimulationReport["failure"];
  try {
    await world.run();
  } catch (error) {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    failure = { message, lines: time.lastLines() };
  }
  const trace = time.traceHash();
  world.close();
  return {
    ...{ seed, engine: world.engineName, rates: world.rates, steps: time.steps, virtualMs: time.now },
    ...{ realMs: realMs() - startedAt, trace, failure },
    counts: Object.fromEntries([...world.counts].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** Effects of these are written by `context.tx`. */
const typesWithEffect: ReadonlySet<string> = new Set(["esim.enabled", "esim.disabled", "esim.installed"]);
/** These have no handler. */
const unhandledType: (typeof eventTypes)[number] = "esim.deleted";

function createWorld(
  time: VirtualTime,
  random: ReturnType<typeof seededRandom>,
  events: number,
  wanted: EngineName | undefined,
  broken: Break | undefined,
) {
  const set = random.fork("settings");
  const ofSeed = set.pick(["server", "sqlite"] as const);
  const engineName = wanted ?? (broken === undefined ? ofSeed : "server");
  const isOrdered = broken === "lane" || set.chance(0.75);
  const settings = {
    receivers: 1 + set.below(3),
    workers: 1 + set.below(3),
    concurrency: set.pick([1, 3, 20]),
    leaseMs: set.pick([5000, 15_000, 30_000]),
    pollMs: set.pick([2000, 10_000, 30_000]),
    maxAttempts: set.pick([3, 6, 20]),
    timeoutMs: set.pick([2000, 10_000, 60_000]),
    emitMs: set.pick([2000, 10_000, 30_000]),
    reconcileMs: set.pick([3, 10, 30]) * minuteMs,
    rotateMs: set.pick([10, 30, 120]) * minuteMs,
    checksReceivers: set.chance(0.5),
    /** Whether the service gets the time for all its attempts, most of a day, before the last pass. */
    waitsForSender: set.chance(0.2),
  };
  const faults = createFaults(random.fork("faults"));
  const { rates } = faults;
  const chaos = random.fork("chaos");
  const conduct = random.fork("handlers");
  const storeMachine: Machine = { offsetMs: 0, setAt: Number.NEGATIVE_INFINITY };
  const checks: Checks = createChecks(time, isOrdered, storeMachine);
  const processes = createProcesses(time);
  const live = new Set<Process>();
  const receivers = new Map<Process, Receiver>();
  const retiredSecrets: string[] = [];
  const lane = isOrdered
    ? (event: { data: { esimReference?: string } }) => event.data.esimReference
    : undefined;
  /** Counts the errors, and believes none of the alarms that only a broken promise can raise. */
  const logger = loggerWith({
    error(_, message) {
      checks.count(`log: ${message}`);
      if (message.startsWith("These events were acknowledged and lost"))
        time.fail(
          new BrokenPromise("A pass has raised the alarm for events that were acknowledged and lost."),
        );
    },
  });
  const engineOptions = {
    ...{ time, faults, random: random.fork("engine"), processes, checks, lane, storeMachine },
    onCommitted(process: Process) {
      if (process.isStarting || process.role === "operator" || !faults.strikes("killAtCommit")) return;
      checks.count("kills at a commit");
      time.plan(time.world, 0, `${process.name} is killed at a commit`, () => {
        if (!process.isDead) kill(process);
      });
    },
  };
  const engine: Engine =
    engineName === "server" ? serverEngine(engineOptions, broken) : sqliteEngine(engineOptions);
  const network = createNetwork({
    ...{ time, faults, random: random.fork("network"), count: checks.count },
    receivers: () => [...receivers.keys()].filter(({ isDead }) => !isDead),
    receive,
  });
  installSender(network);
  const service = startService(random.fork("service"), faults);
  let operator: { readonly process: Process; readonly stores: Stores };
  let emitted = 0;

  // ------------------------------------------------------------ the receiver's side

  function keysOf(process: Process, { state }: Stores): KeyStore {
    return process.program.keyState.stateKeySource(state);
  }

  function clientOf(process: Process): ApiClient {
    const { baseUrl, credentials } = service;
    return process.program.client.createClient({
      ...{ baseUrl, ...credentials },
      fetch: network.fetchOf(process, service.serve) as never,
    });
  }

  /** The main function of a process, which runs until it is killed or has stopped. */
  const mains: Readonly<Record<Role, (process: Process, stores: Stores) => Promise<void>>> = {
    async receiver(process, stores) {
      const { core } = process.program;
      const receiver = core.createReceiver(stores.inbox, { secret: keysOf(process, stores), logger });
      receivers.set(process, receiver);
      await aborted(process.stopping);
      receivers.delete(process);
      await receiver.close();
    },
    async worker(process, stores) {
      const { core, endpoint } = process.program;
      const { concurrency, leaseMs, pollMs, maxAttempts, timeoutMs } = settings;
      const handlers = Object.fromEntries(
        eventTypes
          .filter((type) => type !== unhandledType)
          .map((type) => [
            type,
            (event: WebhookEvent, context: HandlerContext<SqliteTransaction>) =>
              handle(process, event, context),
          ]),
      );
      const worker = core.createWorker(stores.inbox, handlers as never, {
        ...{ concurrency, leaseMs, pollMs, maxAttempts, timeoutMs, logger, shutdownMs: 5000 },
        backoff: core.fullJitter({ baseMs: 1000, capMs: 2 * minuteMs }),
      });
      const reconciler = endpoint.createReconciler(clientOf(process), service.endpoint, stores.inbox, {
        ...{ state: stores.state, since: new Date(epochMs - hourMs), everyMs: settings.reconcileMs },
        logger,
      });
      const { stopping: signal } = process;
      await Promise.all([worker.run({ signal }), reconciler.run({ signal })]);
    },
    async rotator(process, stores) {
      const { endpoint } = process.program;
      const api = clientOf(process);
      const { stopping: signal } = process;
      for (;;) {
        await sleep(random.wait(settings.rotateMs));
        for (let isDone = false; !isDone && !signal.aborted; ) {
          const secret = service.secret();
          try {
            await endpoint.rotateSecret(api, service.endpoint, keysOf(process, stores), {
              ...{ signal, logger, overlapMs: minuteMs, checkReceivers: settings.checksReceivers },
            });
            isDone = true;
            if (service.secret() !== secret) retiredSecrets.push(secret);
            checks.count("rotations");
          } catch (error) {
            checks.count(`rotation: ${(error as { code?: string }).code ?? error}`);
            await sleep(chaos.between(1000, 3 * minuteMs));
          }
        }
        if (signal.aborted) return;
      }
    },
    operator: () => new Promise(() => {}),
  };

  async function start(role: Role, machine: Machine = engine.machineFor()): Promise<Process> {
    const process = await processes.start(role, machine, async (process) => {
      const stores = await engine.open(process);
      live.add(process);
      if (role === "operator") operator = { process, stores };
      mains[role](process, stores).then(
        () => ended(process),
        (error) => time.fail(new Error(`${process.name} ended by itself.`, { cause: error })),
      );
    });
    checks.count(`${role}s started`);
    return process;
  }

  /** A process has ended, or was killed: another one of its role is started a while later. */
  function ended(process: Process): void {
    live.delete(process);
    receivers.delete(process);
    if (!process.isDead) process.kill();
    const afterMs = faults.areOver ? 1000 : chaos.wait(chaos.pick([1000, 20_000]));
    time.plan(time.world, afterMs, `another ${process.role} starts`, () => {
      // the machine of a process that was killed has the same clock as before
      time.standStill(start(process.role, process.machine));
    });
  }

  function kill(process: Process): void {
    process.kill();
    ended(process);
  }

  async function receive(process: Process, { headers, body, isCut }: Sent) {
    const receiver = receivers.get(process);
    const id = headers["webhook-id"] ?? "";
    if (receiver === undefined) return { status: 503, body: "" };
    const half = body.subarray(0, body.length >> 1);
    const received = await receiver.receive({
      method: "POST",
      headers,
      body: isCut
        ? () => (sink) => {
            sink.add(half);
            sink.abandon();
            return () => {};
          }
        : body,
    });
    checks.count(`answers ${received.status}`);
    if (received.status < 300 && !id.startsWith("forged")) checks.acknowledged(id);
    return { status: received.status, body: received.body };
  }

  async function handle(process: Process, event: WebhookEvent, context: HandlerContext<SqliteTransaction>) {
    const { id, type, data } = event;
    const { number } = data as unknown as { readonly number: number };
    checks.runStarted(process, { id, type, number }, context.attempt);
    time.note(`  ${process.name} handles ${id}, attempt ${context.attempt}`);
    if (typesWithEffect.has(type))
      context.tx.write({
        sql: "insert into effect (id, attempt) values (?, ?)",
        parameters: [id, context.attempt],
      });
    if (faults.strikes("handlerHangs")) {
      checks.count("handlers that hang");
      await sleep(conduct.wait(2 * settings.timeoutMs), conduct.chance(0.5) ? context.signal : undefined);
    } else if (conduct.chance(0.7)) await sleep(conduct.wait(conduct.pick([5, 50, 1000])));
    if (faults.strikes("handlerThrows")) throw new Error("The handler fails on purpose.");
    if (faults.strikes("handlerWaits")) return context.retryLater(conduct.wait(30_000));
    return undefined;
  }

  // ------------------------------------------------------------ what happens to it

  /** Happens on average every `meanMs`, until the faults stop. */
  function often(meanMs: number, what: string, happen: () => void): void {
    if (meanMs === Number.POSITIVE_INFINITY) return;
    time.plan(time.world, chaos.wait(meanMs), what, () => {
      if (faults.areOver) return;
      happen();
      often(meanMs, what, happen);
    });
  }

  function someProcess(): Process | undefined {
    return chaos.pick([...live].filter(({ role, isStopping }) => role !== "operator" && !isStopping));
  }

  function startChaos(): void {
    const one = (what: string, happen: (process: Process) => void) => () => {
      const process = someProcess();
      if (process === undefined) return;
      time.note(`  ${what}: ${process.name}`);
      checks.count(what);
      happen(process);
    };
    often(rates.killMs, "a process is killed", one("kills", kill));
    often(
      rates.stopMs,
      "a process is stopped",
      one("stops", (process) => process.stop()),
    );
    const freeze = one("freezes", (process) => {
      process.frozenUntil =
        time.now + chaos.pick([100, settings.leaseMs, 3 * settings.leaseMs]) * chaos.between(0.5, 1.5);
    });
    often(rates.freezeMs, "a process is frozen", freeze);
    const part = one("partitions", (process) => {
      process.partitionedUntil = time.now + chaos.between(1000, 3 * settings.leaseMs);
    });
    if (engineName === "server") {
      often(rates.partitionMs, "a process loses its way to the store", part);
      often(rates.outageMs, "the store is down", () =>
        engine.outage(time.now + chaos.between(1000, minuteMs)),
      );
    }
    const setClock = one("clocks set", ({ machine }) => {
      const mostMs = chaos.pick([500, 20_000, 10 * minuteMs]);
      machine.offsetMs = chaos.chance(0.4) ? 0 : chaos.between(-mostMs, mostMs);
      machine.setAt = time.now;
    });
    often(rates.clockMs, "a clock is set", setClock);
    often(rates.operatorMs, "an operator redrives", () => redrive(3));
    often(rates.operatorMs, "an operator decides on an event that waits", decideOnOneThatWaits);
    often(rates.operatorMs, "an operator pauses", () => void pause());
    often(rates.forgeryMs, "a forgery", () => forge(newSecret(), "a delivery with a forged signature"));
  }

  function redrive(most: number): void {
    const ids = [...checks.idsIn("dead"), ...checks.idsIn("unhandled")];
    for (let left = Math.min(most, ids.length); left > 0; left -= 1) {
      const id = chaos.pick(ids);
      const state = checks.idsIn("dead").includes(id) ? "dead" : "unhandled";
      void asOperator(({ inbox }) => inbox.redrive({ ids: [id], state }));
    }
  }

  /** Makes an event that waits due now, or gives it up. */
  function decideOnOneThatWaits(): void {
    const ids = checks.idsIn("ready");
    if (ids.length === 0) return;
    const id = chaos.pick(ids);
    if (chaos.chance(0.7)) void asOperator(({ inbox }) => inbox.redrive({ ids: [id], state: "ready" }));
    else void asOperator(({ inbox }) => inbox.giveUp({ ids: [id] }, { reason: "on purpose" }));
  }

  function pause(): Promise<void> {
    const type = chaos.pick(eventTypes);
    const until = new Date(epochMs + time.now + storeMachine.offsetMs + chaos.wait(10 * minuteMs) + 1000);
    checks.count("pauses");
    return asOperator(({ inbox }) => inbox.pause({ types: [type], reason: "on purpose", until }));
  }

  /** Does an operator's work; work that is not possible now is left undone. */
  async function asOperator(work: (stores: Stores) => Promise<unknown>): Promise<void> {
    const { process, stores } = operator;
    await time
      .as(process, () => work(stores))
      .catch((error: { code?: string }) => {
        if (!["store_unavailable", "store_full", "invalid_option"].includes(error.code ?? "")) throw error;
      });
  }

  let forgeries = 0;
  function forge(secret: string, what: string, receiver?: Process): void {
    const { headers, body } = signedRequest(
      { id: `forged_${++forgeries}`, type: "esim.enabled", data: { forged: true } },
      { secret },
    );
    network.post(
      { headers, body: Buffer.from(body) },
      ({ status }) => checks.forged(what, status),
      () => {},
      receiver,
    );
  }

  // ------------------------------------------------------------ from the beginning to the end

  function emitNext(): void {
    time.plan(time.world, chaos.wait(settings.emitMs), "the service creates events", () => {
      const burst = chaos.chance(0.02) ? 50 : 1 + chaos.below(3);
      for (let left = Math.min(burst, events - emitted); left > 0; left -= 1) {
        checks.created(service.emit());
        emitted += 1;
      }
      if (emitted < events) emitNext();
    });
  }

  /** Takes steps until the work has ended, and resolves as it does. */
  async function during<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const ending = work.finally(() => {
      isOver = true;
    });
    ending.catch(() => {});
    await time.run(() => isOver);
    return ending;
  }

  async function runFor(isOver: () => boolean, mostMs: number, otherwise: () => string): Promise<void> {
    const untilMs = time.now + mostMs;
    await time.run(isOver, untilMs);
    if (!isOver()) throw new Error(`${otherwise()} after ${mostMs / hourMs} quiet hours.`);
  }

  async function run(): Promise<void> {
    await start("operator");
    const { process, stores } = operator;
    const secret = service.secret();
    const firstKeys = { keys: [{ secret, endpoint: service.endpoint }] };
    await during(retried(() => time.as(process, () => keysOf(process, stores).write(firstKeys, undefined))));
    for (let left = settings.receivers; left > 0; left -= 1) await start("receiver");
    for (let left = settings.workers; left > 0; left -= 1) await start("worker");
    await start("rotator");
    startChaos();
    emitNext();
    await time.run(() => emitted === events);

    // the quiet: what was promised must become true by itself
    faults.stop();
    service.stopFaults();
    engine.outage(0);
    time.note("THE FAULTS STOP");
    for (const each of live) Object.assign(each, { frozenUntil: 0, partitionedUntil: 0 });
    for (const { machine } of live)
      if (machine.offsetMs !== 0) Object.assign(machine, { offsetMs: 0, setAt: time.now });
    await during(retried(() => time.as(process, () => stores.inbox.resume())));
    if (settings.waitsForSender)
      await runFor(
        () => !service.isSending(),
        30 * hourMs,
        () => "The service is still sending",
      );
    else await time.run(() => false, time.now + 10 * minuteMs);
    await during(
      retried(() =>
        time.as(process, () =>
          process.program.endpoint.reconcile(clientOf(process), service.endpoint, stores.inbox, {
            ...{ state: stores.state, since: new Date(epochMs - hourMs), logger, includeComing: true },
          }),
        ),
      ),
    );
    const [missing] = checks.missing();
    if (missing !== undefined)
      throw new Error(`${missing} was created by the service, and is not in the inbox after reconcile.`);
    await runFor(() => checks.unfinished() === 0, 3 * hourMs, checks.describeUnfinished);

    // secrets that have ended, at receivers that have got no delivery since then
    await time.run(() => false, time.now + 3 * minuteMs);
    for (const receiver of receivers.keys()) {
      for (const secret of retiredSecrets) forge(secret, "a delivery with a secret that has ended", receiver);
      forge(newSecret(), "a delivery with a forged signature", receiver);
      await time.run(() => false, time.now + minuteMs);
    }

    const states = new Map<string, string>();
    for (let cursor: string | undefined; ; ) {
      const page = await during(
        time.as(process, () =>
          stores.inbox.list({}, { limit: 1000, ...(cursor !== undefined && { cursor }) }),
        ),
      );
      for (const { id, state } of page.rows) states.set(id, state);
      if (page.nextCursor === null) break;
      cursor = page.nextCursor;
    }
    checks.end(states, engine.effects(), typesWithEffect);
  }

  /** Reaches its end in the quiet: what rejects is tried again a few times. */
  async function retried<T>(work: () => Promise<T>): Promise<T> {
    for (let left = 20; ; left -= 1) {
      try {
        return await work();
      } catch (error) {
        if (left === 0) throw error;
        await sleep(minuteMs);
      }
    }
  }

  return { run, engineName, rates, counts: checks.counts, close: engine.close };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

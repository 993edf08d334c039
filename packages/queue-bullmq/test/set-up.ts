import { randomUUID } from "node:crypto";
import { EventEmitter, on } from "node:events";
import type { EsimEvents, InboxEntry } from "@esim-webhooks/core";
import { type BullmqInbox, type BullmqInboxOptions, bullmqInbox } from "@esim-webhooks/queue-bullmq";
import { type Job, type Processor, Queue, type QueueOptions, Worker, type WorkerOptions } from "bullmq";
import type { Cluster, Redis } from "ioredis";
import { closedAfterEach } from "../../../test/closed-after-each.ts";
import { entry } from "../../../test/inbox-entry.ts";

/** Opens what the tests of a file need on the queue `events`. All of it is closed after each test. */
export interface Openers {
  /** Anything else to close after the test. */
  readonly opened: { close(): unknown }[];
  openInbox(options?: Partial<BullmqInboxOptions>): BullmqInbox;
  openQueue(options?: Partial<QueueOptions>, name?: string): Queue;
  openWorker(processor: Processor | null, options?: Partial<WorkerOptions>, name?: string): Worker;
  keepClient<Client extends Redis | Cluster>(client: Client): Client;
}

/** Call it at the top of the file. `url`: the Redis of inboxes, queues and workers that are given no other. */
export function openersOn(url: () => string): Openers {
  const opened = closedAfterEach();
  function keep<Each extends { close(): unknown }>(each: Each): Each {
    opened.push(each);
    return each;
  }
  return {
    opened,
    openInbox: (options = {}) =>
      keep(
        bullmqInbox({
          ...(options.queue === undefined && { connection: url(), name: "events" }),
          ...options,
        }),
      ),
    openQueue(options = {}, name = "events") {
      const queue = keep(new Queue(name, { connection: { url: url() }, ...options }));
      return queue.on("error", () => {});
    },
    openWorker(processor, options = {}, name = "events") {
      const connection = { url: url(), maxRetriesPerRequest: null };
      const worker = keep(new Worker(name, processor, { connection, ...options }));
      return follow(worker.on("error", () => {}));
    },
    keepClient(client) {
      client.on("error", () => {});
      opened.push({ close: () => client.disconnect() });
      return client;
    },
  };
}

interface Followed {
  completed: [Job];
  failed: [Job, Error];
  paused: [];
}

type Iterators = { readonly [Name in keyof Followed]: AsyncIterator<Followed[Name]> };

const followed = new WeakMap<Worker, Iterators>();

/** Keeps the worker's events for `nextOf`, from its start on. */
function follow(worker: Worker): Worker {
  const emitter: EventEmitter = worker;
  const relay = new EventEmitter(); // gets no "error", which would end the iterators
  const iteratorOf = <Name extends keyof Followed>(name: Name): AsyncIterator<Followed[Name]> => {
    emitter.on(name, (...values) => relay.emit(name, ...values));
    return on(relay, name) as AsyncIterator<Followed[Name]>;
  };
  followed.set(worker, {
    completed: iteratorOf("completed"),
    failed: iteratorOf("failed"),
    paused: iteratorOf("paused"),
  });
  return worker;
}

/** Resolves to the values of the first event of that name that no call has returned yet: a job may end before its `put` resolves. */
export async function nextOf<Name extends keyof Followed>(
  worker: Worker,
  name: Name,
): Promise<Followed[Name]> {
  const iterators = followed.get(worker);
  if (iterators === undefined) throw new Error("openWorker has not opened this worker.");
  return (await (iterators[name] as AsyncIterator<Followed[Name]>).next()).value;
}

/** The entry of an event of the sample data, as a receiver makes it. */
export function entryOf(
  id: string = randomUUID(),
  { type = "esim.enabled", ...changes }: Partial<InboxEntry> & { type?: keyof EsimEvents } = {},
): InboxEntry {
  return { ...entry(id, { type }), ...changes };
}

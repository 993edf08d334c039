import { createRequire } from "node:module";
import { Socket } from "node:net";
import type { Dispatcher } from "undici";
import type { Faults } from "./faults.ts";
import type { Process } from "./process.ts";
import type { Random } from "./random.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** The request of a delivery. */
export interface Sent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The connection is cut in the middle of the body. */
  readonly isCut: boolean;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export interface NetworkOptions {
  readonly time: VirtualTime;
  readonly faults: Faults;
  readonly random: Random;
  /** The receivers that listen now. */
  receivers(): readonly Process[];
  /** Receives a delivery in a process. */
  receive(process: Process, sent: Sent): Promise<Answer>;
  count(what: string): void;
}

export interface Network {
  /** Posts a delivery to one of the receivers, or to this one. Calls back with its answer, or with an error of the connection; if all is lost, never. */
  post(
    sent: Omit<Sent, "isCut">,
    onAnswer: (answer: Answer) => void,
    onError: (error: Error) => void,
    receiver?: Process,
  ): void;
  /** A `fetch` of a process. `serve` answers it, outside of all processes. */
  fetchOf(process: Process, serve: (request: Request) => Response | Promise<Response>): typeof fetch;
}

/** A network that loses, delays, doubles and reorders. The connections of a process that is killed are reset. */
export function createNetwork({ time, faults, random, receivers, receive, count }: NetworkOptions): Network {
  const reset = () => Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });

  return {
    post({ headers, body }, onAnswer, onError, receiver) {
      const { requestMs, answerMs, lost, isReset } = faults.fate();
      const fail = (afterMs: number, what: string) =>
        time.plan(time.world, afterMs, `the sender: ${what}`, () => onError(reset()));
      const process = receiver ?? random.pick(receivers());
      if (process === undefined) return void fail(1, "connection refused");
      if (lost === "before") {
        count("deliveries lost");
        return void (isReset && fail(requestMs, "connection reset"));
      }
      const id = headers["webhook-id"];
      const isCut = faults.strikes("cutBody");
      if (isCut) fail(requestMs, "connection cut");
      let isOpen = true;
      process.onKilled(() => {
        if (!isOpen) return;
        isOpen = false;
        fail(1, "connection reset");
      });
      time.plan(process, requestMs, `delivery ${id}`, () => {
        void receive(process, { headers, body, isCut }).then((answer) => {
          if (!isOpen || isCut) return;
          isOpen = false;
          time.note(`  ${process.name} answers ${answer.status} to ${id}`);
          if (lost === "after") {
            count("answers to deliveries lost");
            return void (isReset && fail(answerMs, "connection reset"));
          }
          time.plan(time.world, answerMs, `the sender: answer ${answer.status} to ${id}`, () =>
            onAnswer(answer),
          );
        });
      });
    },
    fetchOf: (process, serve) => (url, init) =>
      new Promise((resolve, reject) => {
        const { requestMs, answerMs, lost, isReset } = faults.fate();
        const { signal, ...sent } = init ?? {};
        const name = `${sent.method ?? "GET"} ${new URL(String(url)).pathname}`;
        const fail = (afterMs: number) =>
          time.plan(process, afterMs, `${name}: connection reset`, () =>
            reject(new TypeError("fetch failed", { cause: reset() })),
          );
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
        if (lost === "before") {
          count("calls lost");
          return void (isReset && fail(requestMs));
        }
        time.plan(time.world, requestMs, `${name} of ${process.name}`, () => {
          void (async () => {
            const answer = await serve(new Request(url, sent));
            const { status, headers } = answer;
            const body = await answer.arrayBuffer();
            if (lost === "after") {
              count("answers to calls lost");
              return void (isReset && fail(answerMs));
            }
            time.plan(process, answerMs, `${name}: answer ${status}`, () =>
              resolve(new Response(body, { status, headers })),
            );
          })();
        });
      }),
  };
}

/** Lets the sandbox's sender, which uses undici, post by this network, and lets nothing use the real one. */
export function installSender(network: Network): void {
  Socket.prototype.connect = () => {
    throw new Error("Something connects to the real network, which a seed does not decide.");
  };
  const ofSandbox = createRequire(new URL("../../packages/sandbox/package.json", import.meta.url));
  const { Agent } = ofSandbox("undici") as typeof import("undici");
  Agent.prototype.dispatch = (options, handler) => {
    const { onRequestStart, onResponseStart, onResponseData, onResponseEnd, onResponseError } = handler;
    let isAborted = false;
    const controller = {
      abort() {
        isAborted = true;
      },
    } as unknown as Dispatcher.DispatchController;
    onRequestStart?.call(handler, controller, {});
    network.post(
      { headers: options.headers as Record<string, string>, body: options.body as Buffer },
      ({ status, body }) => {
        if (isAborted) return;
        onResponseStart?.call(handler, controller, status, {}, "");
        onResponseData?.call(handler, controller, Buffer.from(body));
        onResponseEnd?.call(handler, controller, {});
      },
      (error) => {
        if (!isAborted) onResponseError?.call(handler, controller, error);
      },
    );
    return true;
  };
}

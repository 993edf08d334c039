import { loadProgram, type Program } from "./programs.ts";
import type { Machine, Owner, VirtualTime } from "./virtual-time.ts";

/** A process of the receiver's side, from its start to its end. */
export interface Process extends Owner {
  readonly number: number;
  readonly role: Role;
  readonly program: Program;
  /** Its threads, which continue while its event loop is blocked. */
  readonly threads: Owner;
  readonly isStarting: boolean;
  /** Asked to end. */
  readonly isStopping: boolean;
  frozenUntil: number;
  /** It does not reach its store until then, in ms of virtual time. */
  partitionedUntil: number;
  /** Aborts when it is asked to end, as on SIGTERM. */
  readonly stopping: AbortSignal;
  onKilled(listener: () => void): void;
  /** Ends it immediately: no step of it happens any more. */
  kill(): void;
  stop(): void;
}

export type Role = "receiver" | "worker" | "rotator" | "operator";

/** Starts processes, one after the other; time stands still meanwhile. */
export interface Processes {
  /** The process of a number. */
  get(number: number): Process;
  /** Loads a fresh copy of the packages, then calls `main`; it has started when that resolves. */
  start(role: Role, machine: Machine, main: (process: Process) => Promise<void>): Promise<Process>;
}

export function createProcesses(time: VirtualTime): Processes {
  const started = new Map<number, Process>();
  return {
    get(number) {
      const process = started.get(number);
      if (process === undefined) throw new Error(`There is no process ${number}.`);
      return process;
    },
    async start(role, machine, main) {
      const number = started.size + 1;
      const program = await loadProgram(number);
      const stopping = new AbortController();
      const killed: (() => void)[] = [];
      const state = { isDead: false, isStarting: true };
      const process: Process = {
        ...{ number, role, program, machine, frozenUntil: 0, partitionedUntil: 0 },
        name: `${role} ${number}`,
        stopping: stopping.signal,
        threads: {
          name: `${role} ${number}, thread`,
          machine,
          frozenUntil: 0,
          get isDead() {
            return state.isDead;
          },
        },
        get isDead() {
          return state.isDead;
        },
        get isStarting() {
          return state.isStarting;
        },
        get isStopping() {
          return stopping.signal.aborted;
        },
        onKilled: (listener) => void killed.push(listener),
        kill() {
          for (const listener of killed.splice(0)) listener();
          state.isDead = true;
        },
        stop: () => time.as(process, () => stopping.abort()),
      };
      started.set(number, process);
      await time.as(process, () => main(process));
      state.isStarting = false;
      return process;
    },
  };
}

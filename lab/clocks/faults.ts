import type { EngineName } from "../engines.ts";

/** How far clocks are ahead of the right one, in seconds. What is left out is right. */
export interface Shift {
  /** All processes of the fleet, or only the first one. On SQLite, its file has the clock of the fleet. */
  readonly fleet?: number;
  readonly first?: number;
  readonly server?: number;
}

/** A clock fault, and on which engines it breaks which promise. */
export interface ClockFault {
  readonly name: string;
  readonly engines: readonly EngineName[];
  /** The clocks from the start of the processes on. */
  readonly from?: Shift;
  /** While handlers run, the clocks become these, one after the other. */
  readonly steps?: readonly Shift[];
  /** Whether the clocks are never set right. */
  readonly stays?: boolean;
  /** The speeds of the clocks of the processes, in their order. A slow one is killed when the fault ends. */
  readonly speeds?: readonly number[];
  /** All clocks show this time two seconds before the faults begin. */
  readonly at?: Date;
  readonly timeZone?: string;
  /** Events may run again here, since their leases end early. Elsewhere no handler starts again without a kill. */
  readonly runsAgain?: readonly EngineName[];
  /** The prefixes of the ids of the events that wait here until the clocks are right. All others are done before. */
  readonly waits?: Partial<Record<EngineName, readonly string[]>>;
  /** Where done ids are forgotten, so that a redelivery runs again. */
  readonly forgets?: readonly EngineName[];
}

const hour = 3600;
const year = 365 * 24 * hour;
const servers = ["postgres", "redis", "bullmq"] as const;
const all = ["sqlite", ...servers] as const;

export const clockFaults: readonly ClockFault[] = [
  { name: "no fault", engines: all },
  {
    name: "our machines jump 6 h ahead",
    engines: all,
    steps: [{ fleet: 6 * hour }],
    runsAgain: ["sqlite"],
  },
  {
    name: "our machines jump 6 h back",
    engines: all,
    steps: [{ fleet: -6 * hour }],
    runsAgain: ["sqlite", "bullmq"], // BullMQ renews its locks by the clock of the worker's machine
    waits: { sqlite: ["paused"], bullmq: ["fails"] },
  },
  {
    name: "the server jumps 6 h ahead",
    engines: servers,
    steps: [{ server: 6 * hour }],
    runsAgain: servers,
  },
  {
    name: "the server jumps 6 h back",
    engines: servers,
    steps: [{ server: -6 * hour }],
    runsAgain: servers, // once it is right again, which is a jump ahead
    waits: { postgres: [""], bullmq: ["held"] },
  },
  { name: "the server is 6 h ahead", engines: servers, from: { server: 6 * hour }, stays: true },
  {
    name: "the server is 6 h behind",
    engines: servers,
    from: { server: -6 * hour },
    runsAgain: ["redis"], // once it is right, which is a jump ahead
    waits: { postgres: ["paused"] }, // a pause ends at a time
  },
  { name: "one process is a day ahead", engines: servers, from: { first: 24 * hour } },
  {
    name: "steps of a second, of all clocks apart",
    engines: all,
    steps: [{ fleet: 1 }, {}, { server: 1 }, {}, { fleet: -1 }, { server: -1 }, {}],
  },
  { name: "clocks drift by 1 %", engines: all, speeds: [1.01, 0.99, 1.01] },
  {
    name: "one process at a hundredth of its speed",
    engines: servers,
    speeds: [0.01],
    runsAgain: servers,
  },
  {
    name: "daylight saving time begins",
    engines: all,
    at: new Date("2027-03-14T07:00:00Z"),
    timeZone: "America/New_York",
  },
  {
    name: "daylight saving time ends",
    engines: all,
    at: new Date("2026-11-01T06:00:00Z"),
    timeZone: "America/New_York",
  },
  { name: "32 bits of seconds end in 2038", engines: all, at: new Date("2038-01-19T03:14:08Z") },
  {
    name: "our clock jumps a year ahead",
    engines: all,
    steps: [{ fleet: year, server: year }],
    runsAgain: all,
    forgets: ["redis", "bullmq"],
  },
];

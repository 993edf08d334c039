// The explored bounds: by default in some four minutes on a slow processor, and in a unit test in less than three seconds.
import { type Bounds, disturbances, type EventPlan } from "./search.ts";

function event(lane: string | null, plan: Partial<EventPlan> = {}): EventPlan {
  return { lane, pausable: false, handled: true, ...plan };
}

const pausable = { pausable: true };
const twoWorkers = ["worker", "worker"] as const;
const all = { maxAttempts: 2, kinds: disturbances } as const;

export const defaultBounds: readonly Bounds[] = [
  { ...all, name: "one event", events: [event(null, pausable)], actors: twoWorkers, disturbances: 4 },
  {
    ...all,
    name: "an event without a handler",
    events: [event(null, { ...pausable, handled: false })],
    actors: twoWorkers,
    disturbances: 4,
  },
  {
    ...all,
    name: "two events of one lane",
    events: [event("A", pausable), event("A")],
    actors: twoWorkers,
    disturbances: 1,
  },
  {
    name: "two events of one lane, one attempt each",
    events: [event("A", pausable), event("A")],
    actors: twoWorkers,
    maxAttempts: 1,
    disturbances: 2,
    kinds: ["crash"],
  },
  {
    name: "two lanes",
    events: [event("A", pausable), event("B")],
    actors: twoWorkers,
    maxAttempts: 1,
    disturbances: 1,
    kinds: disturbances,
  },
  {
    name: "three events, two of one lane",
    events: [event("A", pausable), event("B"), event("A")],
    actors: twoWorkers,
    maxAttempts: 1,
    disturbances: 0,
    kinds: [],
  },
  {
    name: "three events of one lane, and a crash",
    events: [event("A"), event("A"), event("A")],
    actors: twoWorkers,
    maxAttempts: 1,
    disturbances: 1,
    kinds: ["crash"],
  },
  {
    ...all,
    name: "one event, inline and in the inbox",
    events: [event(null, pausable)],
    actors: ["worker", "processor"],
    disturbances: 4,
  },
  {
    ...all,
    name: "one event, inline in two processes",
    events: [event(null)],
    actors: ["processor", "processor"],
    disturbances: 4,
  },
  {
    ...all,
    name: "an event without a handler, whose retention ends, claimed inline",
    events: [event(null, { handled: false })],
    actors: ["worker", "processor", "processor"],
    disturbances: 2,
  },
];

export const smallBounds: readonly Bounds[] = [
  { ...all, name: "one event", events: [event(null, pausable)], actors: twoWorkers, disturbances: 2 },
  {
    ...all,
    name: "inline in two processes",
    events: [event(null)],
    actors: ["processor", "processor"],
    disturbances: 1,
  },
  {
    ...all,
    name: "an event without a handler",
    events: [event(null, { ...pausable, handled: false })],
    actors: twoWorkers,
    disturbances: 2,
  },
  {
    name: "two events of one lane",
    events: [event("A", pausable), event("A")],
    actors: twoWorkers,
    maxAttempts: 1,
    disturbances: 1,
    kinds: ["retry"],
  },
  {
    ...all,
    name: "inline and in the inbox",
    events: [event(null)],
    actors: ["worker", "processor"],
    disturbances: 1,
  },
  {
    ...all,
    name: "an event without a handler, whose retention ends, claimed inline",
    events: [event(null, { handled: false })],
    actors: ["worker", "processor"],
    disturbances: 1,
  },
];

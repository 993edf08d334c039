import { suggest } from "@esim-webhooks/core/internal";
import * as z from "zod";
import { problemsOf, Refused } from "./refused.ts";

/** How often a fault strikes. */
const strikes = {
  /** How many times at most. Default 1; with a `probability`, no limit. */
  times: z.int().min(1).optional(),
  /** How likely the fault is to strike each time that it could: above 0, at most 1. Default 1. The seed decides which times. */
  probability: z.number().gt(0).max(1).optional(),
};

const onCall = {
  ...strikes,
  /** The call, with its parameters named as in the API: `"POST /esims"`. Default: every call. */
  call: z
    .string()
    .regex(/^(?:GET|POST|PATCH|DELETE) \//, 'expected a method and a path, such as "POST /esims"')
    .optional(),
};

const onDelivery = {
  ...strikes,
  /** Strikes only deliveries of this event type. Default: every type. */
  eventType: z.string().optional(),
};

const bytesPerSecond = z.int().min(1).default(100);

const callFaults = [
  z.strictObject({
    ...onCall,
    /** The call is done, and the connection is cut before the answer. */
    kind: z.literal("drop_answer"),
  }),
  z.strictObject({
    ...onCall,
    /** The answer is an error. Unless `done`, the call's idempotency key keeps it, as the switch `cacheErrors` says. */
    kind: z.literal("error"),
    /** The status of the answer. Default 500. */
    status: z.int().min(400).max(599).default(500),
    /** Whether the call is done nevertheless, and its key keeps the success. Default false. */
    done: z.boolean().default(false),
  }),
  z.strictObject({
    ...onCall,
    /** The answer is that of a call above the rate limit. */
    kind: z.literal("rate_limit"),
  }),
  z.strictObject({
    ...onCall,
    /** The answer comes slowly. */
    kind: z.literal("slow_answer"),
    /** How fast: bytes a second. Default 100. */
    bytesPerSecond,
  }),
  z.strictObject({
    ...onCall,
    /** Nothing is done and nothing is answered, and the connection stays open. */
    kind: z.literal("hang"),
  }),
  z.strictObject({
    ...onCall,
    /** The call is answered only after the first attempts to send its events have ended. */
    kind: z.literal("early_events"),
  }),
] as const;

const deliveryFaults = [
  z.strictObject({
    ...onDelivery,
    /** The attempt is two concurrent requests. Only the answer to the first one has an effect. */
    kind: z.literal("duplicate"),
  }),
  z.strictObject({
    ...onDelivery,
    /** The delivery waits until an attempt of a later one to the same endpoint has ended. */
    kind: z.literal("reorder"),
    /** How long it waits at most: ms on the service's clock. Default 10,000. */
    waitMs: z.int().min(1).default(10_000),
  }),
  z.strictObject({
    ...onDelivery,
    /** The attempt is signed with a secret that was never the endpoint's. */
    kind: z.literal("wrong_signature"),
  }),
  z.strictObject({
    ...onDelivery,
    /** The attempt is signed with the endpoint's previous secret; if it never had one, as with `wrong_signature`. */
    kind: z.literal("old_signature"),
  }),
  z.strictObject({
    ...onDelivery,
    /** From its first attempt on, the delivery has fields that are in no schema. */
    kind: z.literal("new_field"),
  }),
  z.strictObject({
    ...onDelivery,
    /** From its first attempt on, the `reason` in its data, if it has one, is an unknown one. */
    kind: z.literal("new_reason"),
  }),
  z.strictObject({
    ...onDelivery,
    /** From its first attempt on, its data has another shape. */
    kind: z.literal("other_shape"),
    /** Fields that are added to its data, or replace those of the same name. Default: none. */
    set: z.record(z.string(), z.json()).default({}),
    /** Fields that are left out. Default: none. */
    unset: z.array(z.string()).default([]),
  }),
  z.strictObject({
    ...onDelivery,
    /** The connection is closed in the middle of the body. */
    kind: z.literal("cut"),
  }),
  z.strictObject({
    ...onDelivery,
    /** Half of the body is sent, and then nothing more: the connection stays open until the endpoint has answered, or its time to answer has ended. */
    kind: z.literal("half_open"),
  }),
  z.strictObject({
    ...onDelivery,
    /** The body is sent slowly. The time that this takes is real time. */
    kind: z.literal("slow"),
    /** How fast: bytes a second. Default 100. */
    bytesPerSecond,
  }),
] as const;

const callFaultSchema = z.discriminatedUnion("kind", callFaults);
const deliveryFaultSchema = z.discriminatedUnion("kind", deliveryFaults);

/** A fault, as data. */
const faultSchema = z.discriminatedUnion("kind", [...callFaults, ...deliveryFaults]);

/**
 * A fault of calls of the API, with its defaults.
 * @useDeclaredType
 */
export type CallFault = z.output<typeof callFaultSchema>;
/**
 * A fault of deliveries, with its defaults.
 * @useDeclaredType
 */
export type DeliveryFault = z.output<typeof deliveryFaultSchema>;
/** A fault with its defaults. */
export type Fault = CallFault | DeliveryFault;
/**
 * A fault as it is given: its kind, and what differs from the defaults.
 * @useDeclaredType
 */
export type FaultSettings = z.input<typeof faultSchema>;

export const faultKinds: readonly Fault["kind"][] = [...callFaults, ...deliveryFaults].map(
  ({ shape }) => shape.kind.value,
);
const callFaultKinds: readonly Fault["kind"][] = callFaults.map(({ shape }) => shape.kind.value);

export function isCallFault(fault: Fault): fault is CallFault {
  return callFaultKinds.includes(fault.kind);
}

/** Returns a fault with its defaults. Throws `Refused("invalid")`, with every problem in its message. */
export function readFault(given: unknown): Fault {
  const kind = (given as { kind?: unknown } | null | undefined)?.kind;
  if (typeof kind !== "string" || !(faultKinds as readonly string[]).includes(kind)) {
    throw new Refused(
      "invalid",
      `There is no fault of kind ${JSON.stringify(kind) ?? "undefined"}. ${suggest(String(kind), faultKinds)}`,
    );
  }
  const read = faultSchema.safeParse(given);
  if (read.success) return read.data;
  throw new Refused("invalid", `The fault "${kind}" cannot be right: ${problemsOf(read.error)}. Correct it.`);
}

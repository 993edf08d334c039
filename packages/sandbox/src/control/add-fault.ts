import { suggest } from "@esim-webhooks/core/internal";
import { callNames } from "../api/api.ts";
import { type FaultSettings, readFault } from "../base/fault.ts";
import { Refused } from "../base/refused.ts";
import { checkEventType } from "../webhook/event-types.ts";
import type { Parts } from "./parts.ts";

/** Adds a fault. Throws `Refused("invalid")`, also for a call or an event type that does not exist: the fault could never strike. */
export function addFault({ service, faults, changes }: Parts, settings: FaultSettings): void {
  const fault = readFault(settings);
  if ("call" in fault && fault.call !== undefined) checkCall(fault.call, callNames(service.switches));
  if ("eventType" in fault && fault.eventType !== undefined) checkEventType(service, fault.eventType);
  faults.add(fault);
  changes.report("state");
}

/** Adds a fault: the next call of this name is done, and its answer is dropped. Throws `Refused("invalid")` for a call that the API does not have. */
export function dropNextAnswer(parts: Parts, call: string): void {
  checkCall(call, callNames(parts.service.switches));
  addFault(parts, { kind: "drop_answer", call });
}

function checkCall(call: string, calls: readonly string[]): void {
  if (calls.includes(call)) return;
  throw new Refused("invalid", `The API has no call "${call}". ${suggest(String(call), calls)}`);
}

import type { StateMachine } from "../base/state-machine.ts";

export const portInStatuses = [
  "requested",
  "approved",
  "scheduled",
  "cancelling",
  "completed",
  "rejected",
  "failed",
  "cancelled",
] as const;
export type PortInStatus = (typeof portInStatuses)[number];
export type PortInOperation =
  | "submit"
  | "approve"
  | "schedule"
  | "reject"
  | "fail"
  | "complete"
  | "cancel"
  | "confirmCancel";

/** A request that is completed before it was approved is approved first. */
export const wayToCompletion = ["requested", "approved", "completed"] as const;

const again = "This request has ended: create a corrected one, or abandon porting.";

/** What was to be cancelled may still be completed or fail: then the cancellation came too late. */
export const portInMoves: StateMachine<PortInStatus, PortInOperation> = {
  thing: "The port-in request",
  moves: {
    requested: {
      submit: "requested",
      approve: "approved",
      schedule: "scheduled",
      reject: "rejected",
      fail: "failed",
      complete: "completed",
      cancel: "cancelling",
    },
    approved: { schedule: "scheduled", fail: "failed", complete: "completed", cancel: "cancelling" },
    scheduled: { schedule: "scheduled", fail: "failed", complete: "completed", cancel: "cancelling" },
    cancelling: { confirmCancel: "cancelled", fail: "failed", complete: "completed" },
    completed: {},
    rejected: {},
    failed: {},
    cancelled: {},
  },
  afterwards: { rejected: again, failed: again, cancelled: again },
};

/** After these a corrected request may follow. */
export const endedOutcomes: readonly PortInStatus[] = ["rejected", "failed", "cancelled"];

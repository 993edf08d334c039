import * as z from "zod";
import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import type { StateMachine } from "../base/state-machine.ts";
import { emitOf, findEsim } from "../esim/esim.ts";
import { donorDetailsSchema } from "./new-port-in.ts";

const portInStatuses = [
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

/** The moves of a port-in. A cancelling request may still be completed or fail: then the cancellation was too late. */
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

/** The outcomes after which a corrected request may follow. */
export const endedOutcomes: readonly PortInStatus[] = ["rejected", "failed", "cancelled"];

/** A port-in request, as the database has it. */
export interface PortIn {
  readonly portInRequestReference: string;
  readonly profileReference: string;
  readonly esimReference: string;
  readonly msisdn: string;
  readonly detailsJson: string;
  readonly status: PortInStatus;
  readonly reasonCode: string | null;
  readonly reasonMessage: string | null;
  readonly scheduledDate: string | null;
  readonly submittedAt: number | null;
  readonly completedAt: number | null;
  readonly abandoned: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

const select = "select portIns.*, profileReference from portIns join esims using (esimReference)";

/** Throws `Refused("not_found")`. */
export function findPortIn(service: Service, portInRequestReference: string): PortIn {
  const portIn = service.db.get<PortIn>(`${select} where portInRequestReference = ?`, portInRequestReference);
  if (portIn) return portIn;
  throw new Refused(
    "not_found",
    `There is no port-in request ${portInRequestReference}. Take the reference of one that was created.`,
  );
}

/** The requests of the eSIM, the newest first: only the newest can be under way. */
export function portInsOf(service: Service, esimReference: string): PortIn[] {
  return service.db.all<PortIn>(`${select} where esimReference = ? order by sequence desc`, esimReference);
}

/** A port-in request as the API shows it. */
export const portInSchema = z
  .object({
    portInRequestReference: z.string(),
    profileReference: z.string(),
    esimReference: z.string(),
    msisdn: z.string(),
    details: donorDetailsSchema,
    status: z.enum(portInStatuses),
    reason: z.object({ code: z.string(), message: z.string().nullable() }).nullable(),
    scheduledDate: z.iso.date().nullable(),
    submittedAt: z.iso.datetime().nullable(),
    completedAt: z.iso.datetime().nullable(),
    abandoned: z.boolean(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: "PortIn" });

export type PortInRecord = z.output<typeof portInSchema>;

export function portInRecord(portIn: PortIn): PortInRecord {
  const { portInRequestReference, profileReference, esimReference, msisdn, status } = portIn;
  return {
    portInRequestReference,
    profileReference,
    esimReference,
    msisdn,
    details: JSON.parse(portIn.detailsJson),
    status,
    reason: portIn.reasonCode === null ? null : { code: portIn.reasonCode, message: portIn.reasonMessage },
    scheduledDate: portIn.scheduledDate,
    submittedAt: orNull(portIn.submittedAt),
    completedAt: orNull(portIn.completedAt),
    abandoned: portIn.abandoned === 1,
    createdAt: new Date(portIn.createdAt).toISOString(),
    updatedAt: new Date(portIn.updatedAt).toISOString(),
  };
}

function orNull(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** Emits an event of the request as it is now. The event does not have the donor details: only the donor needs them. */
export function emitOfPortIn(service: Service, portIn: PortIn, type: string): void {
  const { portInRequestReference, msisdn, status, reason, submittedAt, completedAt } = portInRecord(portIn);
  const data = { portInRequestReference, msisdn, status, reason, submittedAt, completedAt };
  emitOf(service, findEsim(service, portIn.esimReference), type, data);
}

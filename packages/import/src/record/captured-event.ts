import { headerReader, headerText, isStorableId } from "@esim-webhooks/core/kit";
import { readCapturedRequest } from "./captured-request.ts";
import { type DumpedEvent, dumpedEvent } from "./dumped-event.ts";
import type { Fields, RecordFault } from "./fields.ts";

/** Reads the event of a captured request. The request must have a `receivedAt`. */
export function readCapturedEvent(fields: Fields, maxDepth: number): DumpedEvent | RecordFault {
  const request = readCapturedRequest(fields, maxDepth);
  if ("fault" in request) return request;
  const { headers, payload, receivedAt } = request;
  if (receivedAt === null) return fault("it has no receivedAt: the date-time at which it was received");
  const header = headerReader(headers);
  const id = headerText(header("webhook-id") ?? "");
  const isSigned = header("webhook-signature") !== undefined;
  if (!isSigned && !isStorableId(id)) {
    return fault("it has neither a signature nor a webhook-id of 1 to 1,024 bytes");
  }
  return dumpedEvent(id, payload, null, { ...request, receivedAt, isSigned });
}

function fault(reason: string): RecordFault {
  return { fault: "not_a_record", reason };
}

import { readCapturedEvent } from "./captured-event.ts";
import { headersOf } from "./captured-headers.ts";
import { readDeliveryRecord } from "./delivery-record.ts";
import type { DumpedEvent } from "./dumped-event.ts";
import { type Fields, isObject, type RecordFault } from "./fields.ts";
import { createMapper, type Mapping } from "./mapping.ts";

/** Reads the event that a record of a dump contains. */
export type RecordReader = (value: unknown) => DumpedEvent | RecordFault;

const neither: RecordFault = {
  fault: "not_a_record",
  reason: "it is neither a delivery (eventId, payload) nor a captured request (headers, body, receivedAt)",
};

export function createRecordReader(mapping: Mapping | undefined, maxDepth: number): RecordReader {
  const fieldsOf = mapping && createMapper(mapping);
  return (value) => {
    if (!isObject(value)) return neither;
    const fields = fieldsOf === undefined ? value : fieldsOf(value);
    const isDelivery = fields["eventId"] !== undefined && fields["payload"] !== undefined;
    const isCaptured = fields["headers"] !== undefined && fields["body"] !== undefined;
    if (isCaptured && (!isDelivery || isSigned(fields, maxDepth))) return readCapturedEvent(fields, maxDepth);
    return isDelivery ? readDeliveryRecord(fields, maxDepth) : neither;
  };
}

/** Whether it has a signature to verify. Such a record is proof, also when it is a delivery record as well. */
function isSigned(fields: Fields, maxDepth: number): boolean {
  return headersOf(fields["headers"], maxDepth)?.["webhook-signature"] !== undefined;
}

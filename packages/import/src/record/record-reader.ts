import { readCapturedEvent } from "./captured-event.ts";
import { readDeliveryRecord } from "./delivery-record.ts";
import type { DumpedEvent } from "./dumped-event.ts";
import { isObject, type RecordFault } from "./fields.ts";
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
    if (fields["eventId"] !== undefined && fields["payload"] !== undefined) {
      return readDeliveryRecord(fields, maxDepth);
    }
    if (fields["headers"] !== undefined && fields["body"] !== undefined) {
      return readCapturedEvent(fields, maxDepth);
    }
    return neither;
  };
}

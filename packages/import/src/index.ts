export type { ImportErrorCode } from "./base/errors.ts";
export type { FaultCode, Position } from "./dump/record.ts";
export { importDeliveries } from "./import-deliveries.ts";
export type { ImportOptions } from "./import-options.ts";
export type { ImportProgress, ImportReport } from "./import-report.ts";
export type { ImportTarget } from "./replay/import-target.ts";
export type { Ledger } from "./replay/ledger.ts";
export type { RejectedRecord } from "./replay/rejected-record.ts";

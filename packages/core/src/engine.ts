// For authors of stores, queues and adapters anywhere.

export { coalesce } from "./base/coalesce.ts";
export type { OptionsShape } from "./base/options.ts";
export { durationMs, parseOptions, withMethods } from "./base/options.ts";
export { safeListener } from "./base/safe-listener.ts";
export { warnOfSetup } from "./base/safe-logger.ts";
export { createDeadline } from "./base/waiting.ts";
export { keyText } from "./event/event.ts";
export type { LatestOnlySettings } from "./handle/latest-only.ts";
export { latestOnlyHandler } from "./handle/latest-only.ts";
export { longWaitMs } from "./memory/memory-lanes.ts";
export { workerGoneMs } from "./memory/memory-workers.ts";
export { createEntryProcessor } from "./process/entry-processor.ts";
export type { MountedPath, Route } from "./receive/route.ts";
export { checkPlainPath, createRoute } from "./receive/route.ts";
export { isInbox } from "./receive/target.ts";
export { publishChanges } from "./store/admin-notices.ts";
export type { CountedGauges } from "./store/counted-gauges.ts";
export { gaugesOf, mostCounted } from "./store/counted-gauges.ts";
export type { Ending, RowChange } from "./store/ending.ts";
export { rowChange } from "./store/ending.ts";
export type { EncodedEntry } from "./store/entry-codec.ts";
export { decodeEntry, encodeEntry } from "./store/entry-codec.ts";
export { erasedError, erasedSubject } from "./store/erase.ts";
export { readErrorText } from "./store/error-text.ts";
export type { EventColumn, ReadRow } from "./store/event-columns.ts";
export {
  eventColumns,
  inboxRow,
  listedColumns,
  shownColumns,
  storedEvent,
  withoutBody,
} from "./store/event-columns.ts";
export { readGiveUp } from "./store/give-up.ts";
export { encodeStep, leaseEnded, readHistory } from "./store/history.ts";
export { checkEntry, checkRerun, occurredAtMs } from "./store/inbox-entry.ts";
export type { InboxSettings } from "./store/inbox-options.ts";
export { inboxShape, laneReader, subjectReader } from "./store/inbox-options.ts";
export type { LaneVisit, LaneVisits } from "./store/lane-visits.ts";
export { createLaneVisits } from "./store/lane-visits.ts";
export { createDeliveryNotes } from "./store/last-delivery.ts";
export type { ListCursor } from "./store/list-cursor.ts";
export { readCursor, writeCursor } from "./store/list-cursor.ts";
export type { MinuteCounter } from "./store/minute-counts.ts";
export { createMinuteCounter, minutesKeptMs } from "./store/minute-counts.ts";
export type { NewPause } from "./store/pause.ts";
export { holdAndLog, readPauses } from "./store/pause.ts";
export type { PurgeClock, PurgeSteps } from "./store/purger.ts";
export { createPurger, safePurge } from "./store/purger.ts";
export { decodeRunNote, encodeRunNote, mostRunNotes } from "./store/run-note.ts";
export { checkStateName, encodeState } from "./store/state-store.ts";
export type { StoreGuard } from "./store/store-guard.ts";
export { createStoreGuard } from "./store/store-guard.ts";
export type { StoreOptions } from "./store/store-options.ts";
export { spreadRetention, storeShape, warnOfShortRetention } from "./store/store-options.ts";

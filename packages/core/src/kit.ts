export { answerText } from "./base/answer-text.ts";
export type { AskOptions } from "./base/ask.ts";
export { askInTime } from "./base/ask.ts";
export { limitPauses } from "./base/backoff.ts";
export type { ByteBuffer } from "./base/byte-buffer.ts";
export { byteBuffer } from "./base/byte-buffer.ts";
export { dateTimeMs, monotonicClock, systemClock } from "./base/clock.ts";
export type { CoalesceOptions } from "./base/coalesce.ts";
export { coalesce } from "./base/coalesce.ts";
export { syncFolder } from "./base/durable-file.ts";
export { silentLogger, throttledLog } from "./base/logger.ts";
export { makeFolder } from "./base/make-folder.ts";
export { maskPersonalData } from "./base/masking.ts";
export type { Kind, OptionsShape, Places, SettingsOf } from "./base/options.ts";
export {
  checkArguments,
  durationMs,
  loggerOption,
  parseOptions,
  suggest,
  withMethods,
} from "./base/options.ts";
export { pageOf } from "./base/pages.ts";
export { type AnswerPlaces, createPlaces } from "./base/places.ts";
export { type RedisAddress, redisAt, redisText, withoutArguments } from "./base/redis-client.ts";
export { type ReplaceableClient, replaceWhenRefused } from "./base/replace-when-refused.ts";
export { safeListener } from "./base/safe-listener.ts";
export { safeLogger, warnOfSetup } from "./base/safe-logger.ts";
export type { ServerAddress } from "./base/server-url.ts";
export { addressText, isServerUrl } from "./base/server-url.ts";
export { shared } from "./base/shared.ts";
export type { TextAnswer, TextHandler } from "./base/text-handler.ts";
export { textHandler } from "./base/text-handler.ts";
export type { Thrown } from "./base/thrown.ts";
export { describeThrown, isInstance, readThrown } from "./base/thrown.ts";
export { ago, instant, span } from "./base/time-text.ts";
export type { ListenerWarning, ProgressNotice, Stage, StageMessage } from "./base/trace.ts";
export { createNotice, createProgressNotice, createStage, listenTo } from "./base/trace.ts";
export type { TraceIds } from "./base/tracer.ts";
export { packageVersion } from "./base/version.ts";
export type { Deadline } from "./base/waiting.ts";
export { createDeadline } from "./base/waiting.ts";
export { checkTypes } from "./event/catalog.ts";
export { eventOf, idPattern, isStorableId, keyText, shownId } from "./event/event.ts";
export type { ReadBody } from "./event/shown-event.ts";
export { maskEvent, maskJson, maskLane, readBody } from "./event/shown-event.ts";
export type { Limits } from "./handle/decide.ts";
export { decide } from "./handle/decide.ts";
export type { LatestKey, LatestOnlySettings } from "./handle/latest-only.ts";
export { latestOnlyHandler } from "./handle/latest-only.ts";
export type { EndedFacts, SettleMessage } from "./handle/settled.ts";
export { reportEnding } from "./handle/settled.ts";
export type { TimeLimitOptions, TimeLimitSettings, TimeLimits } from "./handle/time-limits.ts";
export { createTimeLimits, timeLimitShape } from "./handle/time-limits.ts";
export type { EntryAttempt, ProcessedEntry } from "./process/entry-processor.ts";
export { createEntryProcessor, provenanceOf } from "./process/entry-processor.ts";
export type { ProcessorSettings } from "./process/processor.ts";
export { processorShape } from "./process/processor.ts";
export { sourceOption, toleranceOption } from "./receive/receiver-options.ts";
export type { MountedPath, Route } from "./receive/route.ts";
export { checkPlainPath, createRoute } from "./receive/route.ts";
export { isInbox } from "./receive/target.ts";
export { targetPath } from "./receive/target-path.ts";
export { closeServer } from "./run/close-server.ts";
export type { Defer } from "./run/with-defer.ts";
export { withDefer } from "./run/with-defer.ts";
export type { InboxChanges } from "./store/admin-notices.ts";
export { publishChanges } from "./store/admin-notices.ts";
export type { Ending, Failure, RowChange } from "./store/ending.ts";
export { rowChange } from "./store/ending.ts";
export type { EncodedEntry } from "./store/entry-codec.ts";
export { decodeEntry, encodeEntry } from "./store/entry-codec.ts";
export { erasedError, erasedSubject } from "./store/erase.ts";
export type { ErrorGroup } from "./store/error-groups.ts";
export { causeOf, groupByError } from "./store/error-groups.ts";
export type { KeptError } from "./store/error-text.ts";
export {
  fittedError,
  frameStart,
  framesOf,
  readErrorText,
  stackText,
  withCauses,
} from "./store/error-text.ts";
export type { EventColumn, ReadRow } from "./store/event-columns.ts";
export {
  eventColumns,
  inboxRow,
  listedColumns,
  shownColumns,
  storedEvent,
  withoutBody,
} from "./store/event-columns.ts";
export { encodeAttempt, leaseEnded, readHistory } from "./store/history.ts";
export type { InboxRoles } from "./store/inbox.ts";
export { hasRole, inboxEntry, putEntries } from "./store/inbox.ts";
export type {
  CopiedEvents,
  CopySource,
  CopySourceState,
  CopyTarget,
  DifferentEvent,
  EventRecord,
  LatestRecord,
  StateRecord,
} from "./store/inbox-copy.ts";
export { checkEntry, checkRerun, occurredAtMs } from "./store/inbox-entry.ts";
export type { InboxSettings } from "./store/inbox-options.ts";
export { inboxShape, laneReader, subjectOption, subjectReader } from "./store/inbox-options.ts";
export { createDeliveryNotes } from "./store/last-delivery.ts";
export type { ListCursor } from "./store/list-cursor.ts";
export { readCursor, writeCursor } from "./store/list-cursor.ts";
export { workerGoneMs } from "./store/memory-workers.ts";
export type { MinuteCounter } from "./store/minute-counts.ts";
export { createMinuteCounter, minutesKeptMs } from "./store/minute-counts.ts";
export { countsOf, noteRun } from "./store/note-run.ts";
export type { NewPause } from "./store/pause.ts";
export { holdAndLog, readPauses, refuseTypes } from "./store/pause.ts";
export type { PurgeClock, Purger, PurgeSteps } from "./store/purger.ts";
export { createPurger, safePurge } from "./store/purger.ts";
export { decodeRunNote, encodeRunNote, mostRunNotes } from "./store/run-note.ts";
export { checkStateName, encodeState } from "./store/state-store.ts";
export type { StoreGuard, StoreGuardOptions } from "./store/store-guard.ts";
export { createStoreGuard } from "./store/store-guard.ts";
export type { StoreOptions } from "./store/store-options.ts";
export {
  durableStores,
  shortestSafeRetentionMs,
  spreadRetention,
  storeShape,
  warnOfShortRetention,
} from "./store/store-options.ts";
export type { Circumstances, WaitingEvent } from "./store/why-it-waits.ts";
export { whyItWaits } from "./store/why-it-waits.ts";
export type { HeaderReader } from "./verify/headers.ts";
export { headerReader, headerText } from "./verify/headers.ts";
export { keyRecordOf, loadedKeysOf, readKeyText } from "./verify/key-record.ts";
export { keysIn } from "./verify/keyring.ts";
export { defaultToleranceSeconds } from "./verify/tolerance.ts";

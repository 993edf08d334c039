// Shared by the packages of this repository. It may change in any version.

export { answerText } from "./base/answer-text.ts";
export { askInTime } from "./base/ask.ts";
export { limitPauses } from "./base/backoff.ts";
export type { ByteBuffer } from "./base/byte-buffer.ts";
export { byteBuffer } from "./base/byte-buffer.ts";
export { dateTimeMs, monotonicClock } from "./base/clock.ts";
export { syncFolder, syncFoldersAbove } from "./base/durable-file.ts";
export { namedEnvironment, sourceIn, variableIn } from "./base/environment.ts";
export { silentLogger, throttledLog } from "./base/logger.ts";
export { makeFolder } from "./base/make-folder.ts";
export type { SettingsOf } from "./base/options.ts";
export { checkArguments, loggerOption, suggest } from "./base/options.ts";
export { pageOf } from "./base/pages.ts";
export { createPlaces } from "./base/places.ts";
export type { RedisAddress } from "./base/redis-client.ts";
export { redisAt, redisText, withoutArguments } from "./base/redis-client.ts";
export { replaceWhenRefused } from "./base/replace-when-refused.ts";
export { safeLogger } from "./base/safe-logger.ts";
export type { ServerAddress } from "./base/server-url.ts";
export { addressText, isServerUrl } from "./base/server-url.ts";
export type { TextAnswer, TextHandler } from "./base/text-handler.ts";
export { textHandler } from "./base/text-handler.ts";
export { describeThrown, isInstance, readThrown } from "./base/thrown.ts";
export { ago, instant, span } from "./base/time-text.ts";
export type { Stage, StageMessage } from "./base/trace.ts";
export { createNotice, createProgressNotice, createStage, listenTo } from "./base/trace.ts";
export { packageVersion } from "./base/version.ts";
export { checkTypes } from "./event/catalog.ts";
export { eventOf, idPattern, isStorableId, shownId } from "./event/event.ts";
export type { ReadBody } from "./event/shown-event.ts";
export { maskEvent, maskJson, maskLane, readBody } from "./event/shown-event.ts";
export type { Limits } from "./handle/decide.ts";
export { decide } from "./handle/decide.ts";
export type { EndedFacts } from "./handle/settled.ts";
export { reportEnding } from "./handle/settled.ts";
export type { TimeLimitOptions, TimeLimitSettings } from "./handle/time-limits.ts";
export { createTimeLimits, timeLimitShape } from "./handle/time-limits.ts";
export { provenanceOf } from "./process/entry-processor.ts";
export { processorShape } from "./process/processor.ts";
export { ownSourceOption, sourceOption, toleranceOption } from "./receive/receiver-options.ts";
export { targetPath } from "./receive/target-path.ts";
export { closeServer } from "./run/close-server.ts";
export { countSubject } from "./store/erase.ts";
export type { ErrorGroup } from "./store/error-groups.ts";
export { causeOf, groupByError } from "./store/error-groups.ts";
export { fittedError, frameStart, framesOf, stackText, withCauses } from "./store/error-text.ts";
export type { HeldBack } from "./store/held-back.ts";
export { eventHeldBack, heldBackOf } from "./store/held-back.ts";
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
export { subjectOption } from "./store/inbox-options.ts";
export { storeTimeMs } from "./store/lifecycle.ts";
export { noteRun } from "./store/note-run.ts";
export { refuseTypes } from "./store/pause.ts";
export { durableStores, shortestSafeRetentionMs } from "./store/store-options.ts";
export { whyItWaits } from "./store/why-it-waits.ts";
export { headerReader, headerText } from "./verify/headers.ts";
export { keyRecordsIn } from "./verify/key-record.ts";

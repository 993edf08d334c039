export type { Awaitable } from "./base/awaitable.ts";
export type { Backoff, FullJitterOptions } from "./base/backoff.ts";
export { fullJitter } from "./base/backoff.ts";
export type { Clock } from "./base/clock.ts";
export { consoleLogger } from "./base/console-logger.ts";
export type { ApiEnvironment } from "./base/environment.ts";
export type { CoreErrorCode } from "./base/errors.ts";
export { type ErrorSubject, WebhookError } from "./base/errors.ts";
export type { Log, Logger } from "./base/logger.ts";
export type { WinstonLogger } from "./base/winston-logger.ts";
export { winstonLogger } from "./base/winston-logger.ts";
export type { Catalog, DataOf, Issue, Parsed, Schemas, SchemasOf } from "./event/catalog.ts";
export { createCatalog } from "./event/catalog.ts";
export type { Extended } from "./event/esim-catalog.ts";
export { defineCatalog, esimCatalog } from "./event/esim-catalog.ts";
export type {
  EsimAssignedData,
  EsimBalanceUpdatedData,
  EsimData,
  EsimDeviceData,
  EsimEvents,
  EsimFaultedData,
  EsimLifecycleData,
  EsimMccSwitchData,
  FaultReason,
  LifecycleStatus,
  NetworkCode,
  Open,
  PackageEndedData,
  Untyped,
} from "./event/esim-events.ts";
export type {
  DataByType,
  EventKey,
  EventOf,
  FamilyOf,
  UnknownEvent,
  UnknownType,
  WebhookEvent,
} from "./event/event.ts";
export { idempotencyKeyOf, idempotencyKeyOfDelivery } from "./event/idempotency-key-of.ts";
export type { EventOutcome, UndoneOutcome } from "./handle/event-outcome.ts";
export type { FamilyMember, Handler, HandlerContext, Handlers } from "./handle/handler.ts";
export { HandlerEnded } from "./handle/handler-ended.ts";
export type { MemoryStoreOptions } from "./memory/memory-store.ts";
export { memoryStore } from "./memory/memory-store.ts";
export type { Processor, ProcessorOptions } from "./process/processor.ts";
export { createProcessor } from "./process/processor.ts";
export type { Provenance } from "./process/provenance.ts";
export type {
  BodyFault,
  BodySink,
  BodyStream,
  Delivery,
  ReadBody,
  Received,
  Receiver,
} from "./receive/delivery.ts";
export type { WebhookHandler } from "./receive/fetch.ts";
export { webhookHandler } from "./receive/fetch.ts";
export type { MissWatch, NodeHandler, NodeRequest } from "./receive/node.ts";
export {
  discardRest,
  nodeDelivery,
  nodeHandler,
  receiveRequest,
  watchMisses,
  writeReply,
} from "./receive/node.ts";
export type { Outcome, OutcomeCode, StoredOutcome } from "./receive/outcome.ts";
export { createReceiver } from "./receive/receiver.ts";
export type { EndpointLookup, FoundEndpoint, ReceiverOptions } from "./receive/receiver-options.ts";
export type { Reply } from "./receive/reply.ts";
export type { Target } from "./receive/target.ts";
export type { Secret } from "./receive/verifier.ts";
export type { Claim, DedupeStore, StoreCapabilities, Transacted } from "./store/dedupe-store.ts";
export type { StoredEnding } from "./store/ending.ts";
export type { ErasedSubject } from "./store/erase.ts";
export { eraseSubject } from "./store/erase.ts";
export type { GivenUp, GiveUpOptions } from "./store/give-up.ts";
export type { AttemptReport, HistoryStep, OperatorStep } from "./store/history.ts";
export type { Inbox, Rerunnable } from "./store/inbox.ts";
export type {
  InboxAdmin,
  InboxFilter,
  InboxNotes,
  InboxPage,
  InboxPauses,
  InboxReads,
  InboxRepairs,
  RedriveFilter,
} from "./store/inbox-admin.ts";
export type { InboxEntry, Replay } from "./store/inbox-entry.ts";
export type {
  BlockedBy,
  GaugeCount,
  InboxGauges,
  InboxStats,
  WorkerPresence,
} from "./store/inbox-figures.ts";
export type { InboxOptions, LaneOf, SubjectOf } from "./store/inbox-options.ts";
export type {
  InboxLease,
  InboxQueue,
  Settlement,
  TakenEvent,
  TakeOptions,
  WorkerReport,
} from "./store/inbox-queue.ts";
export type { InboxCapabilities, InboxRole, InboxRoleName } from "./store/inbox-role.ts";
export type { InboxWriter, PutResult } from "./store/inbox-writer.ts";
export type { Lifecycle } from "./store/lifecycle.ts";
export type { Minute, MinuteCounts } from "./store/minute-counts.ts";
export type { Pause, PauseOptions } from "./store/pause.ts";
export type { RunNote } from "./store/run-note.ts";
export { stateInEnvironment } from "./store/state-in-environment.ts";
export type { StateStore, StoredState } from "./store/state-store.ts";
export type { InboxRow, InboxState, LaneHolder, StoredEvent } from "./store/stored-event.ts";
export type { HeaderSource } from "./verify/headers.ts";
export type { KeySource, LoadedKeys } from "./verify/key-source.ts";
export type { KeyRecord, KeyStore, StoredKey, StoredKeys } from "./verify/key-store.ts";
export type { Keyring, Secrets } from "./verify/keyring.ts";
export { createKeyring } from "./verify/keyring.ts";
export type {
  EarlyKeyRefusal,
  HeaderRefusal,
  NoMatchingKey,
  Refusal,
  SignatureHeaders,
  Skew,
  SkewRefusal,
  UnusableRefusal,
} from "./verify/refusal.ts";
export type { Proof, VerifyOptions } from "./verify/signature.ts";
export { sign, verify } from "./verify/signature.ts";
export type { Hmac, Key, SigningKey } from "./verify/signing-key.ts";
export type { ToleranceSeconds } from "./verify/tolerance.ts";
export type { Worker } from "./work/worker.ts";
export { createWorker } from "./work/worker.ts";
export type { WorkerOptions } from "./work/worker-options.ts";

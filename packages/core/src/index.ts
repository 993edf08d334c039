export type { Backoff, FullJitterOptions } from "./backoff.ts";
export { fullJitter } from "./backoff.ts";
export type { Catalog, DataOf, Issue, Parsed, Schemas } from "./catalog.ts";
export { createCatalog } from "./catalog.ts";
export type { Clock } from "./clock.ts";
export type { Claim, DedupeStore, StoreCapabilities, Transacted } from "./dedupe-store.ts";
export type { HeaderSource } from "./delivery.ts";
export type { FaultCode, Position } from "./dump/record.ts";
export type { WebhookErrorCode } from "./errors.ts";
export { WebhookError } from "./errors.ts";
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
  Open,
  PackageEndedData,
} from "./esim-catalog.ts";
export { defineCatalog, esimCatalog } from "./esim-catalog.ts";
export type { EventKey, EventOf, FamilyOf, WebhookEvent } from "./event.ts";
export type { Explanation, Finding } from "./explain.ts";
export { explainVerification } from "./explain.ts";
export type { WebhookHandler } from "./fetch.ts";
export { webhookHandler } from "./fetch.ts";
export type { Discard, Handler, HandlerContext, Handlers, RetryLater } from "./handler.ts";
export { discard, retryLater } from "./handler.ts";
export type { Hmac } from "./hmac.ts";
export { importDeliveries } from "./import/import-deliveries.ts";
export type { ImportOptions } from "./import/import-options.ts";
export type { ImportProgress, ImportReport } from "./import/import-report.ts";
export type { ImportTarget } from "./import/import-target.ts";
export type { Ledger } from "./import/ledger.ts";
export type { RejectedRecord } from "./import/rejects-file.ts";
export type {
  Inbox,
  InboxCapabilities,
  InboxEntry,
  InboxFilter,
  InboxLease,
  InboxPage,
  InboxRow,
  InboxState,
  InboxStats,
  InboxWriter,
  PutResult,
  Replay,
  Settlement,
  TakenEvent,
  TakeOptions,
} from "./inbox.ts";
export type { KeySource, LoadedKeys } from "./key-source.ts";
export { fileKeySource } from "./key-source.ts";
export type { Keyring, Secrets } from "./keyring.ts";
export { createKeyring } from "./keyring.ts";
export type { Logger } from "./logger.ts";
export type { MemoryStoreOptions } from "./memory-store.ts";
export { memoryStore } from "./memory-store.ts";
export type { NodeHandler, NodeRequest } from "./node.ts";
export { discardRest, nodeDelivery, nodeHandler, writeReply } from "./node.ts";
export type { EventOutcome, Outcome, OutcomeCode, StoredOutcome } from "./outcome.ts";
export type { Processor, ProcessorOptions, Provenance } from "./processor.ts";
export { createProcessor } from "./processor.ts";
export type { Delivery, Receiver, ReceiverOptions } from "./receiver.ts";
export { createReceiver } from "./receiver.ts";
export type { Reply } from "./reply.ts";
export type { Proof, Refusal, SignatureHeaders } from "./signature.ts";
export { sign, verify } from "./signature.ts";
export type { Key, SigningKey } from "./signing-key.ts";
export type { Target } from "./target.ts";
export type { Secret } from "./verifier.ts";
export type { Worker, WorkerOptions } from "./worker.ts";
export { createWorker } from "./worker.ts";

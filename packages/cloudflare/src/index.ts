export type { DurableObjectState } from "./dedupe-object.ts";
export { DedupeObject } from "./dedupe-object.ts";
export type { DurableObjectNamespace, DurableObjectStoreOptions } from "./durable-object-store.ts";
export { durableObjectStore } from "./durable-object-store.ts";
export type { MessageBatch, QueueHandlerOptions, QueueMessage } from "./queue-handler.ts";
export { queueHandler } from "./queue-handler.ts";
export type { QueueProducer } from "./queue-inbox.ts";
export { queueInbox } from "./queue-inbox.ts";

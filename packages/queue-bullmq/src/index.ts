export type { BullmqInbox } from "./bullmq-inbox.ts";
export { bullmqInbox } from "./bullmq-inbox.ts";
export type { BullmqInboxOptions, EventJobOptions } from "./inbox-settings.ts";
export type { BullmqErrorCode } from "./redis/errors.ts";
export type { BullmqJob, BullmqQueue } from "./redis/queue.ts";
export type { BullmqProcessor, BullmqProcessorOptions, EventJob } from "./work/bullmq-processor.ts";
export { bullmqProcessor } from "./work/bullmq-processor.ts";
export type { JobResult } from "./work/ending.ts";
export type { BullmqWorker, QueueWorkerOptions } from "./work/queue-worker.ts";

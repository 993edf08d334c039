export type { MemoryInboxOptions } from "./memory/memory-inbox.ts";
export { memoryInbox } from "./memory/memory-inbox.ts";
export type { RunHandlerOptions } from "./send/run-handler.ts";
export { runHandler } from "./send/run-handler.ts";
export { sampleData } from "./send/samples.ts";
export type { EventToSend, Fault, SignedRequest, SignedRequestOptions } from "./send/signed-request.ts";
export { newSecret, signedRequest } from "./send/signed-request.ts";

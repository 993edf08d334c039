export { receiverSuite } from "./receiver-suite.ts";
export type { Runner } from "./runner.ts";
export { sampleData } from "./samples.ts";
export type { RunningServer, StartServer } from "./server.ts";
export type { EventToSend, Fault, SignedRequest, SignedRequestOptions } from "./signed-request.ts";
export { newSecret, signedRequest } from "./signed-request.ts";

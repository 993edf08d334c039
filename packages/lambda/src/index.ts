export type { LambdaErrorCode } from "./base/errors.ts";
export type { LambdaContext } from "./base/remaining-time.ts";
export type { SqsBatchResult, SqsEvent, SqsRecord } from "./base/sqs-event.ts";
export type { HttpEvent, HttpResult, LambdaHandler } from "./lambda-handler.ts";
export { lambdaHandler } from "./lambda-handler.ts";
export type { SqsHandler } from "./sqs-handler.ts";
export { sqsHandler } from "./sqs-handler.ts";

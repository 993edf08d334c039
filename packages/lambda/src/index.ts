export type { LambdaErrorCode } from "./base/errors.ts";
export type { LambdaContext } from "./base/remaining-time.ts";
export type { HttpEvent, HttpResult, LambdaHandler } from "./lambda-handler.ts";
export { lambdaHandler } from "./lambda-handler.ts";

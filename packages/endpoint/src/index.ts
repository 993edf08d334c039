export type { EndpointError, EndpointErrorCode } from "./base/errors.ts";

export type { Credentials, TokenRequest } from "./auth/ask-service.ts";
export type { ExchangeRequest, Token, TokenExchange } from "./auth/tokens.ts";
export type { ApiErrorCode, ApiErrorDetails } from "./base/api-error.ts";
export { ApiError } from "./base/api-error.ts";
export type { ClientClock } from "./base/client-clock.ts";
export type { Problem } from "./base/problem.ts";
export type { ClientOptions } from "./client-options.ts";
export type { ApiClient } from "./create-client.ts";
export { createClient } from "./create-client.ts";
export type { LimiterOptions } from "./create-limiter.ts";
export { createLimiter } from "./create-limiter.ts";
export type { Fetch } from "./http/attempt.ts";
export type { CallMessage } from "./http/observe-calls.ts";
export { observeCalls } from "./http/observe-calls.ts";
export type { Method } from "./http/operation.ts";
export type { Budget, NoPlace, Place } from "./limit/budget.ts";
export type { Limiter, LimiterState, Slot } from "./limit/limiter.ts";
export type { Policy, Rate } from "./limit/rate.ts";
export type { Priority } from "./limit/waiting-line.ts";
export type { Account, Client } from "./operations/account.ts";
export type { CallOptions, ChangeOptions } from "./operations/caller.ts";
export type { EsimCatalog, EsimVariant, WebhookEventType } from "./operations/catalog.ts";
export type { ChangeLifecycle, Esims, LifecycleOperation, OrderEsimRequest } from "./operations/esims.ts";
export type { Listing, ListOptions, Page, PageOptions, Pagination } from "./operations/listing.ts";
export type {
  Address,
  AllocateNumberRequest,
  CustomerInfo,
  NumberAssignment,
  Numbers,
  NumberType,
} from "./operations/numbers.ts";
export type { CreatePortInRequest, DonorDetails, PortIn, PortIns } from "./operations/port-ins.ts";
export type {
  CreateWebhookRequest,
  EndpointWithSecret,
  WebhookDelivery,
  WebhookEndpoint,
  Webhooks,
} from "./operations/webhooks.ts";

export type { DeliveriesPage, ReadDeliveriesOptions, ServicePlan } from "./base/deliveries.ts";
export {
  listedMs,
  newestMs,
  occurredAtMs,
  readDeliveries,
  sentAtMs,
  servicePlanOf,
} from "./base/deliveries.ts";
export type { EndpointError, EndpointErrorCode } from "./base/errors.ts";
export { isSameUrl, listEndpoints } from "./base/list-endpoints.ts";
export type { SecretForm } from "./base/options.ts";
export type { WaitingClock } from "./base/waiting-clock.ts";
export { explainChange } from "./change/change-under-way.ts";
export { keysInEnvironment } from "./change/keys-in-environment.ts";
export type {
  ComparedTypes,
  EndpointFinding,
  EndpointFindingCode,
  WantedTypes,
} from "./ensure/compare-types.ts";
export { compareTypes } from "./ensure/compare-types.ts";
export type { EndpointWish, EnsuredEndpoint } from "./ensure/ensure-endpoint.ts";
export { ensureEndpoint } from "./ensure/ensure-endpoint.ts";
export type { ReplacedEndpoint } from "./ensure/replace-endpoint.ts";
export { replaceEndpoint } from "./ensure/replace-endpoint.ts";
export type { FirstReconciled, ReplaceOptions, ReplacePass } from "./ensure/replace-options.ts";
export { observeReconciliations } from "./observe-reconciliations.ts";
export type { Reconciler } from "./reconcile/create-reconciler.ts";
export { createReconciler } from "./reconcile/create-reconciler.ts";
export type { EndpointGap } from "./reconcile/endpoint-gaps.ts";
export type { Watermark } from "./reconcile/pass-state.ts";
export { readWatermark } from "./reconcile/pass-state.ts";
export { reconcile } from "./reconcile/reconcile.ts";
export type { ReconcileMessage } from "./reconcile/reconcile-notice.ts";
export type {
  ReconcileOptions,
  ReconcilerOptions,
  ReconcileSetup,
  ReconcileTarget,
} from "./reconcile/reconcile-options.ts";
export type {
  Period,
  ReconcileLedger,
  ReconcileReport,
  Recovered,
} from "./reconcile/reconcile-report.ts";
export type {
  RequestedEvent,
  SupportReplayRequest,
  SupportReplayRequestOptions,
} from "./reconcile/request-support-replay.ts";
export { requestSupportReplay } from "./reconcile/request-support-replay.ts";
export type {
  GivenEvent,
  RequestedPeriod,
  SupportReplayArrivals,
  SupportReplayWatch,
} from "./reconcile/support-replay-watch.ts";
export { watchSupportReplay } from "./reconcile/support-replay-watch.ts";
export type { PlanOptions, RotationPlan } from "./rotate/plan-rotation.ts";
export { planRotation } from "./rotate/plan-rotation.ts";
export type { RotateOptions, RotationPass, RotationReconciled } from "./rotate/rotate-options.ts";
export type { RotationReport } from "./rotate/rotate-secret.ts";
export { rotateSecret } from "./rotate/rotate-secret.ts";
export type { NewKeyUse } from "./rotate/watch-new-key.ts";

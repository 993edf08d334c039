export type { TextHandler } from "./base/text-handler.ts";
export type { Health, HealthCheck, HealthFault, HealthHandler } from "./health/health.ts";
export type { LivenessHandler, LivenessOptions } from "./health/liveness.ts";
export { livenessHandler } from "./health/liveness.ts";
export type { ReadinessOptions } from "./health/readiness.ts";
export { readinessHandler } from "./health/readiness.ts";

export type { Dashboard, DashboardOptions, Visitor } from "./inbox-dashboard.ts";
export { inboxDashboard } from "./inbox-dashboard.ts";
export type {
  FastifyApp,
  FastifyReply,
  FastifyRequest,
  HonoContext,
  NodeMount,
  NodeRequest,
} from "./mounts.ts";
export type { ClientDelivery, ClientEndpoint, EndpointClient } from "./settings.ts";

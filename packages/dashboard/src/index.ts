export type { Dashboard, DashboardOptions, Visitor } from "./inbox-dashboard.ts";
export { inboxDashboard } from "./inbox-dashboard.ts";
export type { FastifyApp, HonoContext, NodeMount } from "./mounts.ts";

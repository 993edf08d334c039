import type { OpenStore } from "@esim-webhooks/conformance";
import { postgresStore } from "@esim-webhooks/store-postgres";

const open: OpenStore = (options) =>
  postgresStore({ url: process.env["STORE_URL"] ?? "", timeoutMs: 30_000, ...options });
export default open;

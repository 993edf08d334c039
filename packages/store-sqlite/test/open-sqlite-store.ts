import type { OpenStore } from "@esim-webhooks/conformance";
import { sqliteStore } from "@esim-webhooks/store-sqlite";

const open: OpenStore = (options) =>
  sqliteStore({ path: process.env["STORE_PATH"] ?? "", timeoutMs: 60_000, ...options });
export default open;

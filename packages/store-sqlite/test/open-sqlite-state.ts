import type { OpenState } from "@esim-webhooks/conformance";
import { sqliteState } from "@esim-webhooks/store-sqlite";

const open: OpenState = (options) =>
  sqliteState({ path: process.env["STORE_PATH"] ?? "", timeoutMs: 60_000, ...options });
export default open;

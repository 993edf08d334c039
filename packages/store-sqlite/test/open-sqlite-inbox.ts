import type { OpenInbox } from "@esim-webhooks/conformance";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";

const open: OpenInbox = (options) =>
  sqliteInbox({ path: process.env["STORE_PATH"] ?? "", timeoutMs: 60_000, ...options });
export default open;

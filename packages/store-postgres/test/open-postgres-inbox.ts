import type { OpenInbox } from "@esim-webhooks/conformance";
import { postgresInbox } from "@esim-webhooks/store-postgres";

const open: OpenInbox = (options) =>
  postgresInbox({ url: process.env["STORE_URL"] ?? "", timeoutMs: 30_000, ...options });
export default open;

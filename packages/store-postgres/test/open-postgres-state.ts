import type { OpenState } from "@esim-webhooks/conformance";
import { postgresState } from "@esim-webhooks/store-postgres";

const open: OpenState = (options) =>
  postgresState({ url: process.env["STORE_URL"] ?? "", timeoutMs: 30_000, ...options });
export default open;

import type { OpenState } from "@esim-webhooks/conformance";
import { redisState } from "@esim-webhooks/store-redis";

const open: OpenState = (options) =>
  redisState(process.env["STORE_URL"] ?? "", { timeoutMs: 30_000, ...options });
export default open;

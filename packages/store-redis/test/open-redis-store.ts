import type { OpenStore } from "@esim-webhooks/conformance";
import { redisStore } from "@esim-webhooks/store-redis";

const open: OpenStore = (options) =>
  redisStore(process.env["STORE_URL"] ?? "", { timeoutMs: 30_000, ...options });
export default open;

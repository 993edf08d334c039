import { durableObjectStore } from "@esim-webhooks/cloudflare";
import type { OpenStore } from "@esim-webhooks/conformance";
import { bindingAt } from "./dedupe-worker.ts";

const open: OpenStore = (options) =>
  durableObjectStore(bindingAt(process.env["WORKERD_URL"] ?? ""), { timeoutMs: 30_000, ...options });
export default open;

import type { OpenInbox } from "@esim-webhooks/conformance";
import type { InboxWriter } from "@esim-webhooks/core";
import { bullmqInbox } from "@esim-webhooks/queue-bullmq";

const open: OpenInbox<InboxWriter> = () =>
  bullmqInbox({ connection: process.env["STORE_URL"] ?? "", timeoutMs: 30_000 });
export default open;

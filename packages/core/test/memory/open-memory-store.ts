import type { OpenStore } from "@esim-webhooks/conformance";
import { memoryStore } from "@esim-webhooks/core";

const open: OpenStore = ({ retentionMs }) => memoryStore(retentionMs === undefined ? {} : { retentionMs });
export default open;

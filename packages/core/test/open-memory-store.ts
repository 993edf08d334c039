import { memoryStore } from "@esim-webhooks/core";
import type { OpenStore } from "@esim-webhooks/core/testing";

const open: OpenStore = ({ retentionMs }) => memoryStore(retentionMs === undefined ? {} : { retentionMs });
export default open;

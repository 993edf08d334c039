import type { OpenStore } from "@esim-webhooks/conformance";
import { embeddedStore } from "@esim-webhooks/store-postgres";

const open: OpenStore = ({ retentionMs }) =>
  embeddedStore({ dataDir: process.env["STORE_FOLDER"], ...(retentionMs && { retentionMs }) });
export default open;

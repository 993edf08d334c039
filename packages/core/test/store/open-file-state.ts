import type { OpenState } from "@esim-webhooks/conformance";
import { fileState } from "@esim-webhooks/core/state";

const open: OpenState = () => fileState(process.env["STATE_FOLDER"] ?? "");
export default open;

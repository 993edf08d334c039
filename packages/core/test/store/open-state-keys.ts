import type { OpenKeys } from "@esim-webhooks/conformance";
import { stateKeySource } from "@esim-webhooks/core/key-state";
import { fileState } from "@esim-webhooks/core/state";

const open: OpenKeys = (name) => {
  const state = fileState(process.env["STATE_FOLDER"] ?? "");
  return { keys: stateKeySource(state, { name }), close: () => state.close() };
};
export default open;

import type { OpenKeys } from "@esim-webhooks/conformance";
import { stateKeySource } from "@esim-webhooks/core/key-state";
import openState from "./open-redis-state.ts";

const open: OpenKeys = async (name) => {
  const state = await openState({});
  return { keys: stateKeySource(state, { name }), close: () => state.close() };
};
export default open;

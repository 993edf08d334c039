import { keySuite, stateSuite } from "@esim-webhooks/conformance";
import { stateKeySource } from "@esim-webhooks/core/key-state";
import { postgresState } from "@esim-webhooks/store-postgres";
import { describe, it } from "vitest";
import { suiteServer } from "./suite-server.ts";

const { server, database } = suiteServer();

stateSuite(
  "postgresState",
  {
    capabilities: { durable: true, multiProcess: true },
    open: (options) => postgresState({ ...options, ...database(options) }),
    server,
  },
  { describe, it },
);

keySuite(
  "stateKeySource on postgresState",
  {
    open(name) {
      const state = postgresState(database({}));
      return { keys: stateKeySource(state, { name }), close: () => state.close() };
    },
  },
  { describe, it },
);

import { receiverSuite } from "@esim-webhooks/conformance";
import { describe, it } from "vitest";
import { transports } from "./transports.ts";

for (const [name, startServer] of Object.entries(transports)) {
  receiverSuite(name, startServer, { describe, it });
}

import { receiverSuite } from "@esim-webhooks/conformance";
import { describe, it } from "vitest";
import { behindBareRequest, onNode } from "../../packages/core/test/receive/transports.ts";

// core's own adapters: test/transports.suite.test.ts has them all, and loads every framework
receiverSuite("nodeHandler", onNode, { describe, it });
receiverSuite("webhookHandler", behindBareRequest, { describe, it });

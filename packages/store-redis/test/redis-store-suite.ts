import { type Runner, storeSuite } from "@esim-webhooks/conformance";
import { describe, it } from "vitest";
import type { TestServer } from "../../../test/servers/index.ts";
import open from "./open-redis-store.ts";

/** The scenarios that start processes: they take more time than all others together. */
const ofProcesses = /no handle open|client's clock|four processes|to a process|whichever process's clock/;

/** Runs the scenarios of `storeSuite` that start processes, or the others. */
export function redisStoreSuite(which: "processes" | "others", server: () => Promise<TestServer>): void {
  const some: Runner = {
    describe,
    it: (sentence, run) => void (ofProcesses.test(sentence) === (which === "processes") && it(sentence, run)),
  };
  const capabilities = {
    durable: true,
    multiProcess: true,
    transactional: false,
    retentionMs: 30 * 86_400_000,
  };
  const module = import.meta.resolve("./open-redis-store.ts");
  storeSuite(
    "redisStore",
    { capabilities, open, module, execArgv: ["--conditions=@esim-webhooks/source"], server },
    some,
  );
}

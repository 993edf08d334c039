import { receiverSuite } from "@esim-webhooks/conformance";
import { describe, it } from "vitest";
import { putInPlace } from "../../../test/older-peers.ts";

/** All tests of the package, with the Nest that a folder has in place of the one that the package is developed with. */
export async function testsWithNestOf(folder: "test/nest-11" | "test/nest-12"): Promise<void> {
  putInPlace(folder);
  const { moduleTests } = await import("./module-tests.ts");
  const { onNest, platforms } = await import("./nest-app.ts");
  moduleTests(folder);
  for (const platform of platforms)
    receiverSuite(`${folder} on ${platform.name}`, onNest(platform), { describe: describe.concurrent, it });
}

import { join } from "node:path";
import { expect, it } from "vitest";
import { installed } from "../../../test/installed.ts";
import { runCommand } from "../../../test/run.ts";

it("is refused under Bun, whose undici sends nothing", async () => {
  const script = `const { startSandbox } = await import("@esim-webhooks/sandbox");
    await startSandbox().catch(({ code, message }) => console.log(code, message));`;
  const bun = join(installed("test/runtimes"), ".bin/bun");
  expect(await runCommand(bun, ["--conditions=@esim-webhooks/source", "-e", script]).ended).toEqual({
    code: 0,
    output:
      "unsupported_node The sandbox sends deliveries with undici, and Bun puts its own module, which cannot, in its place. Run the sandbox on Node.js 22.18 or newer.\n",
  });
});

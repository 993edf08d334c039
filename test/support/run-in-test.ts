import { onTestFinished } from "vitest";
import { type Run, runNode } from "../run.ts";

/** Runs a TypeScript file as `runNode` does. At the end of the test it is killed, and has ended. */
export function runInTest(args: readonly string[], environment: Record<string, string> = {}): Run {
  const run = runNode(args, environment);
  onTestFinished(async () => {
    run.child.kill("SIGKILL");
    await run.ended;
  });
  return run;
}

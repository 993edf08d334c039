// A process that is killed, for tests: <engine> <place> <command>. `pause`, `resume` and `erase` kill themselves (SIGKILL) as soon as the
// inbox shows that they have begun. `work` has a time limit and a handler that never ends, and says where it is.
import { createWorker, eraseSubject } from "@esim-webhooks/core";
import { type Engine, open, type WorkedEngine } from "./engines.ts";

const [engine = "", place = "", command = "", argument = ""] = process.argv.slice(2);
const inbox = open[engine as Engine](place);

/** Kills this process in the middle of a command: once its first part can be seen. */
async function killInTheMiddle(running: Promise<unknown>, hasBegun: () => Promise<boolean>): Promise<never> {
  let isEnded = false;
  void running.then(() => {
    isEnded = true;
  });
  while (!(await hasBegun()) && !isEnded);
  if (isEnded) throw new Error("The command ended before it could be killed.");
  process.kill(process.pid, "SIGKILL");
  return new Promise(() => {});
}

/** A worker whose handler never ends. `argument`: how long it has after its signal has aborted, in ms. */
async function work(): Promise<void> {
  const hangs = async (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
    signal.addEventListener("abort", () => console.log("over its limit"));
    await new Promise(() => {});
  };
  await createWorker(
    open[engine as WorkedEngine](place),
    { "*": hangs },
    { timeoutMs: 20, graceMs: Number(argument), leaseMs: 10_000, pollMs: 20, backoff: () => 0 },
  ).run({ signal: new AbortController().signal });
}

const commands: Record<string, () => Promise<void>> = {
  pause: () =>
    killInTheMiddle(
      inbox.pause({ types: [argument], reason: "test" }),
      async () => (await inbox.gauges()).counts.paused > 0,
    ),
  resume: () => killInTheMiddle(inbox.resume(), async () => (await inbox.gauges()).counts.ready > 0),
  erase: () =>
    killInTheMiddle(eraseSubject(inbox, argument), async () => (await inbox.count({ state: "done" }, 1)) > 0),
  work,
};

await commands[command]?.();

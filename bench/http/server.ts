// A server of the http bench, in its own process: `server.ts <app> <secrets> [URL of a Redis] [folder of
// another version]`. It writes its port.
// Then its parent writes questions to standard input, and closes it to end this process.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { frozenPackages, presentPackages } from "../../test/upgrade/packages.ts";
import { type AppName, apps } from "./apps.ts";

/** The figures that the parent may ask for. */
export type Question = "cpuTime" | "loopDelay";

const loopDelay = monitorEventLoopDelay({ resolution: 1 });

const answers: Readonly<Record<Question, () => number>> = {
  /** The CPU time of this process so far, in µs. */
  cpuTime() {
    const { user, system } = process.cpuUsage();
    return user + system;
  },
  /** The 99th percentile of the event loop's delay since the last question, in ms. The first one starts the timer, which takes CPU time. */
  loopDelay() {
    const delay = loopDelay.percentile(99) / 1e6;
    loopDelay.reset();
    loopDelay.enable();
    return delay;
  },
};

const [name, secrets = "", redisUrl = "", frozenFolder = ""] = process.argv.slice(2);
const { port } = await apps[name as AppName].start({
  secrets: secrets.split(" ") as [string, ...string[]],
  redisUrl,
  handle: () => {},
  packages: frozenFolder === "" ? presentPackages : await frozenPackages(frozenFolder),
});
console.log(port);

process.stdin.on("data", (question) => console.log(answers[question.toString() as Question]()));
process.stdin.on("end", () => process.exit());

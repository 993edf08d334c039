// One server of the http bench, in its own process: `server.ts <app> <secrets> [URL of a Redis]`.
import { type AppName, apps } from "./apps.ts";

const [name, secrets = "", redisUrl = ""] = process.argv.slice(2);
const { port } = await apps[name as AppName].start({
  secrets: secrets.split(" ") as [string, ...string[]],
  redisUrl,
  handle: () => {},
});
console.log(port);

// the parent writes to standard input to ask for the CPU time so far, and closes it to end this process
process.stdin.on("data", () => {
  const { user, system } = process.cpuUsage();
  console.log(user + system);
});
process.stdin.on("end", () => process.exit());

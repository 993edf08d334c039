import { execFileSync } from "node:child_process";
import { it } from "vitest";

const loop = "const { user } = process.cpuUsage(); while (process.cpuUsage().user < user + 500_000);";

it("takes half a second of CPU, in a child process", () => {
  execFileSync(process.execPath, ["-e", loop]);
});

// A process that rotates and reconciles for `rotation.ts`: each line on standard input is a command, and each is answered with a line of JSON.
import { createInterface } from "node:readline";
import { openRotator, type RotatorPlace } from "../../test/under-fire/rotator.ts";

const rotator = openRotator(JSON.parse(process.env["ROTATOR"] ?? "{}") as RotatorPlace);
console.log("ready");
for await (const line of createInterface(process.stdin)) {
  const [command, since] = line.split(" ");
  try {
    if (command === "rotate") await rotator.rotate();
    else await rotator.reconcile(since === undefined ? undefined : new Date(since));
    console.log(JSON.stringify({ code: null }));
  } catch (error) {
    console.log(JSON.stringify({ code: (error as { code?: unknown }).code ?? String(error) }));
  }
}

// A process that rotates and reconciles for `rotation.ts`. Each line on standard input is a command, which is answered with the code of its error, or null.
import { createInterface } from "node:readline";
import { openRotator, type RotatorPlace } from "../../test/under-fire/rotator.ts";
import { sayAnswer } from "./answers.ts";

const place = JSON.parse(process.env["ROTATOR"] ?? "{}") as RotatorPlace;
const { rotate, reconcile } = openRotator(place, { speed: 20 }); // slow enough for deliveries during the overlap

process.stdin.on("end", () => process.exit()); // the laboratory has ended
sayAnswer("ready");
for await (const line of createInterface(process.stdin)) {
  const [command, since] = line.split(" ");
  const run = command === "rotate" ? rotate() : reconcile(since === undefined ? undefined : new Date(since));
  const code = await run.then(
    () => null,
    (error: { code?: unknown }) => error.code ?? String(error),
  );
  sayAnswer(`${code}`);
}

// Rotates once for `rotationUnderFire`, and kills itself at the step that it is given.
import { openRotator, type RotatorPlace } from "./rotator.ts";

const [place = "", killAt = ""] = process.argv.slice(2);
const rotator = openRotator(JSON.parse(place) as RotatorPlace, { killAt: Number(killAt) });
await rotator.rotate();
await rotator.close();

import { rotationUnderFire } from "./rotation.ts";
import { moments } from "./rotator.ts";

const rotations = Number(process.env["ROTATIONS"] ?? 26);

// each second rotation is killed: once at each moment, and then at any
const anyMoment = () => 1 + Math.floor(Math.random() * moments);
rotationUnderFire({
  rotations,
  burst: 200,
  speed: 4000,
  killAt: (rotation) => {
    if (rotation % 2 === 0) return undefined;
    return rotation < 2 * moments ? (rotation + 1) / 2 : anyMoment();
  },
});

import { rotationUnderFire } from "./rotation-under-fire.ts";
import { moments } from "./rotator.ts";

const rotations = Number(process.env["ROTATIONS"] ?? 50);

rotationUnderFire({
  rotations,
  perSecond: 200,
  speed: 4000,
  killAt: (rotation) => (rotation % 2 === 1 ? 1 + Math.floor(Math.random() * moments) : undefined),
});

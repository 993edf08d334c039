import { rotationUnderFire } from "./rotation.ts";
import { moments } from "./rotator.ts";

// a kill at each moment, and two rotations without one
rotationUnderFire({
  rotations: moments + 2,
  burst: 150,
  speed: 4000,
  killAt: (rotation) => (rotation < moments ? rotation + 1 : undefined),
});

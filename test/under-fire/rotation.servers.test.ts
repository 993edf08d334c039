import { rotationUnderFire } from "./rotation.ts";
import { moments } from "./rotator.ts";

// one kill at each third moment, the one after the call among them; the stress test has all
rotationUnderFire({
  rotations: moments / 3,
  burst: 20,
  speed: 4000,
  killAt: (rotation) => 3 * (rotation + 1),
});

import { rotationUnderFire } from "./rotation-under-fire.ts";
import { moments } from "./rotator.ts";

// one kill at each moment
rotationUnderFire({ rotations: moments, burst: 20, speed: 4000, killAt: (rotation) => rotation + 1 });

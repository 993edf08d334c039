import { byId, setText } from "./element.js";

/** @typedef {import("./records.js").Clock} Clock */

/** The last reading, and when that was. @type {{ readonly clock: Clock, readonly at: number } | undefined} */
let reading;

/** @param {Clock} clock */
export function showState(clock) {
  reading = { clock, at: performance.now() };
  byId("advance").hidden = clock.speed !== null;
  setText(
    byId("pace"),
    clock.speed === null ? "(stands still until you advance it)" : `(${clock.speed} × real time)`,
  );
  tick();
}

/** Moves the shown time on, at the pace of the service's clock. */
function tick() {
  if (reading === undefined) return;
  const { clock, at } = reading;
  const now = Date.parse(clock.now) + (performance.now() - at) * (clock.speed ?? 0);
  setText(byId("clock"), new Date(now).toISOString().replace("T", " ").slice(0, 19));
}

setInterval(tick, 500);

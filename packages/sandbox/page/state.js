import { byId, setText } from "./element.js";
import { shownTime } from "./shown-time.js";

/** @typedef {import("./records.js").State} State */

/** The last reading, and when that was. @type {{ readonly state: State, readonly at: number } | undefined} */
let reading;

/** @param {State} state */
export function showState(state) {
  reading = { state, at: performance.now() };
  const { speed, faults } = state;
  byId("advance").hidden = speed !== null;
  setText(byId("pace"), speed === null ? "(stands still until you advance it)" : `(${speed} × real time)`);
  const waiting = faults.map(({ kind, call, eventType, times }) =>
    [kind, call, eventType, times !== undefined && `${times}×`].filter(Boolean).join(" "),
  );
  setText(
    byId("faults"),
    waiting.length === 0 ? "No fault waits to strike." : `To strike: ${waiting.join("; ")}.`,
  );
  tick();
}

/** Moves the shown time on, at the pace of the service's clock. */
function tick() {
  if (reading === undefined) return;
  const { state, at } = reading;
  const now = Date.parse(state.now) + (performance.now() - at) * (state.speed ?? 0);
  setText(byId("clock"), shownTime(now));
}

setInterval(tick, 500);

import { readView } from "./control.js";
import { showDeliveries } from "./deliveries.js";
import { byId, setText } from "./element.js";
import { showEndpoints } from "./endpoints.js";
import { showEsims } from "./esims.js";
import { makeFormsCalls } from "./forms.js";
import { whenChanged } from "./live.js";
import { showState } from "./state.js";

/** @type {Readonly<Record<string, (records: any) => void>>} */
const show = { esims: showEsims, endpoints: showEndpoints, deliveries: showDeliveries, state: showState };

/** @param {string} view */
async function refresh(view) {
  const records = await readView(`${view}?limit=100`);
  show[view]?.(records);
}

makeFormsCalls();
whenChanged(refresh, (text, isUp) => {
  const connection = byId("connection");
  setText(connection, text);
  connection.className = isUp ? "" : "bad";
});

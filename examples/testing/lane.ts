import type { LaneOf } from "@esim-webhooks/core";

/** All eSIMs of a profile share a lane. Network changes are many and need no order, so they have no lane. */
export const laneOf: LaneOf = ({ type, data }) => (type === "esim.mccswitch" ? null : data.profileReference);

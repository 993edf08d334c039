import { type FlagValues, sets } from "../flags/flag.ts";
import {
  choiceFlag,
  durationFlag,
  endpointFlag,
  setUpAndJsonFlags,
  sinceFlag,
  switchFlag,
  textFlag,
  textsFlag,
  withDefault,
} from "../flags/flag-kinds.ts";

const keyFlags = {
  keyFile: textFlag("file", "The key file of the receivers. Default: the key source of the config"),
  secretForm: sets(
    "secretForm",
    choiceFlag(["hex", "base64", "utf8"], "How the service writes secrets, if not as whsec_ and base64"),
  ),
};

export type EnsureFlags = FlagValues<typeof ensureFlags>;

export const ensureFlags = {
  replace: switchFlag(
    "Change the event types, by a second endpoint: reconcile the first one, then delete it. One event may come under two ids",
  ),
  since: sets(
    "since",
    sinceFlag(
      "With --replace, how far back to reconcile if that was never done: 2h, 7d, yesterday, 2026-11-20",
    ),
  ),
  acceptLoss: sets(
    "acceptLoss",
    switchFlag(
      "With --replace, delete the first endpoint even if events of it are lost: handlers fail, they are not valid, or the listing has forgotten them",
    ),
  ),
  types: textsFlag(
    "type,…",
    "The event types, or families such as esim.lifecycle.*. Default: those that the handlers of the config take",
  ),
  description: textFlag("text", "A label, for people"),
  ...keyFlags,
  ...setUpAndJsonFlags,
};

export type ReconcileFlags = FlagValues<typeof reconcileFlags>;

export const reconcileFlags = {
  since: sets(
    "since",
    sinceFlag(
      "How far back to look at least: 2h, 7d, yesterday, 2026-11-20. Needed the first time. Default: to where it has come",
    ),
  ),
  every: durationFlag(
    "Run until it is stopped, with a pass every 5m, for example. Then --since is for the first pass alone",
    { min: "1s", max: "1d" },
  ),
  includeComing: sets("includeComing", switchFlag("Recover what the service would send again, too")),
  dryRun: switchFlag("Read the listing and say what it has, but change nothing"),
  acknowledgeGaps: switchFlag(
    "Report no more the times in which the endpoint was inactive or not subscribed, as far as earlier passes have reported them",
  ),
  endpoint: endpointFlag,
  source: sets("source", textFlag("name", "The name of the endpoint in the store. Default: the config's")),
  newSource: sets("newSource", switchFlag("Accept a source of which the store has no events")),
  ...setUpAndJsonFlags,
};

export type ReplayRequestFlags = FlagValues<typeof replayRequestFlags>;

export const replayRequestFlags = {
  endpoint: endpointFlag,
  source: reconcileFlags.source,
  ...setUpAndJsonFlags,
};

export type RotateFlags = FlagValues<typeof rotateFlags>;

export const rotateFlags = {
  endpoint: textFlag(
    "reference",
    "The endpoint. Default: the one that all keys name, or the client's only one",
  ),
  ...keyFlags,
  overlap: sets(
    "overlapMs",
    withDefault("2m", durationFlag("How long the old key counts on", { min: "1m", max: "1d" })),
  ),
  noCheck: sets(
    "checkReceivers",
    switchFlag("Do not check first that receivers read the key store, by posting to the endpoint"),
    () => false,
  ),
  noReconcile: switchFlag("Do not look for events that the rotation may have cost"),
  dryRun: switchFlag("Say what would be done, and change nothing. Receivers are not asked"),
  ...setUpAndJsonFlags,
};

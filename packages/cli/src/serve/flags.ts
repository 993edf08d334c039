import type { FlagValues } from "../flags/flag.ts";
import {
  durationFlag,
  jsonFlag,
  metricsFlags,
  portFlag,
  setUpFlags,
  textFlag,
  withDefault,
} from "../flags/flag-kinds.ts";

export type ServeFlags = FlagValues<typeof serveFlags>;

export const serveFlags = {
  ...setUpFlags,
  port: portFlag("The port to listen on; 0: any free port. Default: PORT, the config's, or 3000"),
  host: textFlag("address", "The address to listen on. Default: the config's, or 127.0.0.1"),
  path: textFlag("path", "The path that accepts deliveries. Default: the config's, or /webhooks"),
  keepAlive: withDefault(
    "75s",
    durationFlag("How long a connection stays open after an answer: longer than the load balancer keeps it", {
      min: "1s",
      max: "1h",
    }),
  ),
  drain: durationFlag(
    "How long to accept deliveries after the signal to stop, while the process is not ready. Default: not at all",
    { min: "1s", max: "1h" },
  ),
  ...metricsFlags,
  json: jsonFlag,
};

// A receiver on the adapter TRANSPORT, with OPTIONS. Prints its URL, a report at every SIGUSR2, and closes at SIGTERM.
import { loggerWith } from "../../support/loggers.ts";
import { type Transport, transports } from "../../transports.ts";
import type { VictimReport } from "./victim.ts";

const { TRANSPORT, OPTIONS = "{}" } = process.env;
let handled = 0;
let reports = 0;
const logged: Record<string, number> = {};
const count = ({ outcome }: Record<string, unknown>) => {
  logged[String(outcome)] = (logged[String(outcome)] ?? 0) + 1;
};
const logger = loggerWith({ info: count, warn: count, error: count });
const handlers = {
  "*": () => {
    handled += 1;
  },
};
const server = await transports[TRANSPORT as Transport](
  handlers,
  { ...JSON.parse(OPTIONS), logger },
  async () => {},
);

process.on("SIGUSR2", () => {
  const report: VictimReport = { handled, logged };
  console.log(`report ${++reports} ${JSON.stringify(report)}`);
});
process.once("SIGTERM", async () => {
  await server.shutDown();
  await server.close();
  process.exit();
});
console.log(`listening ${server.url}`);

// The part of `npm run lab -- fleets` in the namespace of the servers: <id of the network> <seed> <part of the name of a scenario>
import { networks } from "./networks.ts";
import { runAll } from "./scenario.ts";

const [id = "", seed = "", part = ""] = process.argv.slice(2);
process.exitCode = (await runAll(
  networks(id).filter(({ name }) => name.includes(part)),
  seed,
))
  ? 0
  : 1;

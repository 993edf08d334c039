import type { CliContext } from "../program/context.ts";
import { openState, openTarget } from "../set-up/open-target.ts";
import { readSetUp } from "../set-up/set-up.ts";
import type { MigrateFlags } from "./flags.ts";

/** Sets up the tables of the store, inbox and state for this version. Several processes can do it at the same time. */
export async function migrate(this: CliContext, flags: MigrateFlags): Promise<void> {
  const setUp = await readSetUp(this, flags);
  const { storedIn, close } = await openTarget(setUp);
  await close();
  if (setUp.config.state !== undefined) await (await openState(setUp)).close();
  if (flags.json) this.output.json({ migrated: storedIn });
  else this.output.data(`Set up for this version: ${storedIn}.`);
  if (setUp.file === undefined && "dataDir" in setUp.place && flags.dataDir === undefined) {
    this.output.note(
      "There is no config file here, so this is the default inbox. To set up a store or an inbox of your own, name it in esim-webhooks.config.ts, as target, or as store with its handlers; or set DATABASE_URL for an inbox on Postgres.",
    );
  }
}

import type { CliContext } from "../context.ts";
import type { SetUpFlags } from "../set-up-flags.ts";

export interface ServeFlags extends SetUpFlags {
  readonly port?: number;
  readonly host?: string;
  readonly path?: string;
  readonly json?: boolean;
}

export async function serve(this: CliContext, flags: ServeFlags): Promise<void> {
  this.output.json(flags);
}

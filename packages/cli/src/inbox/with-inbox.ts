import type { Inbox } from "@esim-webhooks/core";
import { esimCatalog } from "@esim-webhooks/core";
import type { CliContext } from "../context.ts";
import { findInbox, openInbox } from "../open-target.ts";
import { readSetUp } from "../set-up.ts";
import type { SetUpFlags } from "../set-up-flags.ts";

export interface AtInbox {
  readonly inbox: Inbox;
  /** For people: which inbox it is. */
  readonly where: string;
  /** The types that the catalog knows. */
  readonly types: readonly string[];
  /** The source of the config. */
  readonly source: string;
}

/** Opens the inbox for a command, and closes it whatever happens. Who only looks migrates nothing. */
export async function withInbox(
  context: CliContext,
  flags: SetUpFlags,
  purpose: "look" | "act",
  use: (at: AtInbox) => Promise<void>,
): Promise<void> {
  const setUp = await readSetUp(context, flags);
  const open = purpose === "act" ? openInbox : findInbox;
  const { inbox, where, close } = await open(setUp);
  const { types } = setUp.catalog ?? esimCatalog;
  try {
    await use({ inbox, where, types, source: setUp.source });
  } finally {
    await close();
  }
}

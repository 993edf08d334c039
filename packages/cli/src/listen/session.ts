import type { ApiClient, WebhookEndpoint } from "@esim-webhooks/client";
import type { CliContext } from "../program/context.ts";
import type { PostingFlags } from "./posting-view.ts";

export interface ListenFlags extends PostingFlags {
  readonly to?: string;
  readonly endpoint?: string;
  readonly since?: Date;
  readonly only?: readonly string[];
  readonly id?: string;
  /** How often the listing is read, in ms. */
  readonly every: number;
  readonly allowRemote?: boolean;
  readonly config?: string;
}

/** What the command needs from its start to its end. */
export interface Session {
  readonly context: CliContext;
  readonly flags: ListenFlags;
  readonly api: ApiClient;
  /** Whose events are posted. */
  readonly endpoint: WebhookEndpoint;
  /** Where they are posted to. */
  readonly url: string;
  /** What they are signed with now. */
  readonly secret: () => Promise<string | Uint8Array>;
}

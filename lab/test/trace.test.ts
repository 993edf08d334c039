import { DatabaseSync } from "node:sqlite";
import { type Inbox, memoryInbox, type InboxEntry } from "@esim-webhooks/core";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import * as fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../packages/store-sqlite/test/temporary-folder.ts";
import { entry, key } from "../../test/inbox-entry.ts";
import type { Name } from "../model/state-machine.ts";
import { checkHistory, checkQueueEvents, explain, type RowChange, type Snapshot, sqliteHistory } from "../model/trace.ts";

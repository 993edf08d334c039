import { createStoreGuard } from "@esim-webhooks/core/engine";
import { requireFile } from "./database/location.ts";
import { rethrow } from "./open-sqlite.ts";
import type { SqliteFileSettings } from "./sqlite-options.ts";
import { type InputOf, notAsked, type OutputOf, outputOf, packCalls, type Reads } from "./thread/messages.ts";
import { createKeptThread, requireThread, startThread, type ThreadHandle } from "./thread/thread-handle.ts";

/** An existing file that is only read: it is not made, migrated or set up in another way. Everything rejects with a `WebhookError` only. */
export interface OpenSource {
  /** Rejects with `invalid_option` if the file does not exist, or a `source` has other tables. */
  ready(): Promise<void>;
  inReader<Name extends keyof Reads>(name: Name, input: InputOf<Name>): Promise<OutputOf<Name>>;
  /** For long reads: no timeout, and a thread of its own, so that other reads are answered meanwhile. */
  inOwnThread<Name extends keyof Reads>(name: Name, input: InputOf<Name>): Promise<OutputOf<Name>>;
  close(): Promise<void>;
}

/** A `source` must have this version's tables, a `backup` need not. Opens nothing yet: the first read does, or `ready()`. */
export function openSource(
  caller: string,
  role: "source" | "backup",
  settings: SqliteFileSettings,
): OpenSource {
  requireThread(caller);
  const { path, durability, timeoutMs, logger } = settings;
  const reader = createKeptThread(start);
  const check = () => reader.get().then(() => {}, rethrow);
  const guard = createStoreGuard({ name: caller, timeoutMs, logger, backend: "file", check });

  async function start(onEnded: () => void): Promise<ThreadHandle> {
    await requireFile(settings);
    return startThread({ role, path, durability, busyMs: timeoutMs }, { onChanged() {}, onEnded });
  }

  return {
    ready: () => guard.run(async () => {}),
    inReader: (name, input) => guard.run(() => ask(reader.get(), name, input).catch(rethrow)),
    async inOwnThread(name, input) {
      await guard.ready();
      const thread = start(() => {});
      return guard
        .runUnchecked(() => ask(thread, name, input).catch(rethrow))
        .finally(() => thread.then(({ close }) => close()));
    },
    close: () => guard.close(reader.close),
  };
}

async function ask<Name extends keyof Reads>(
  thread: Promise<ThreadHandle>,
  name: Name,
  input: InputOf<Name>,
): Promise<OutputOf<Name>> {
  const calls = packCalls([{ name, input, untilMs: Number.POSITIVE_INFINITY }]);
  const [answer = notAsked] = await (await thread).call(calls);
  return outputOf(answer);
}

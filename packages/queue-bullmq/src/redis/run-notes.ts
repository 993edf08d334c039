import type { RunNote } from "@esim-webhooks/core";
import { decodeRunNote, encodeRunNote, mostRunNotes } from "@esim-webhooks/core/engine";
import { luaNow, type Scripts } from "./script.ts";

/** The notes of imports and passes, a list of Redis for each kind. */
export interface RunNotes {
  note(note: RunNote): Promise<void>;
  list(): Promise<readonly RunNote[]>;
}

const kinds: readonly RunNote["kind"][] = ["import", "reconcile"];

const noteLua = `
${luaNow("ARGV[3]")}
redis.call("LPUSH", KEYS[1], string.format("%.0f", now) .. " " .. ARGV[1])
redis.call("LTRIM", KEYS[1], 0, ARGV[2] - 1)`;

const listLua = `return { redis.call("LRANGE", KEYS[1], 0, -1), redis.call("LRANGE", KEYS[2], 0, -1) }`;

export function createRunNotes(scripts: Scripts, keyStart: string): RunNotes {
  const note = scripts.create("esimWebhooksNoteRun", 1, noteLua);
  const list = scripts.create("esimWebhooksRuns", kinds.length, listLua);
  const keyOf = (kind: RunNote["kind"]) => `${keyStart}:esim-webhooks:runs:${kind}`;
  return {
    async note(run) {
      await note([keyOf(run.kind)], [encodeRunNote(run), String(mostRunNotes), String(Date.now())]);
    },
    async list() {
      const texts = ((await list(kinds.map(keyOf), [])) as string[][]).flat();
      const noted = texts.map((text) => {
        const end = text.indexOf(" ");
        return { at: Number(text.slice(0, end)), run: decodeRunNote(text.slice(end + 1)) };
      });
      // two notes of the same millisecond are ordered by when their runs ended
      noted.sort((a, b) => b.at - a.at || b.run.endedAt.getTime() - a.run.endedAt.getTime());
      return noted.map(({ run }) => run);
    },
  };
}

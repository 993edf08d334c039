import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { packageExports } from "../scripts/docs/read-types.ts";
import { type Changeset, readChangesets, unannounced } from "../scripts/release/changesets.ts";
import { released, surfaces } from "../scripts/release/surfaces.ts";
import { root } from "./run.ts";

const { version } = JSON.parse(readFileSync(join(root, "packages/core/package.json"), "utf8"));

/** A name of each surface, so that none is empty. */
const promised = {
  api: "core: createReceiver of @esim-webhooks/core",
  "error-codes": "core: missing_secret",
  "status-contract": "core: busy",
  schema: "store-postgres: migration 1",
  "log-fields": 'core: outcome of "webhook delivery"',
  "exit-codes": "cli: usage",
  "metric-names": "otel: esim_webhooks.inbox.oldest_due.age",
};

describe("since the last release", () => {
  it.each(Object.entries(promised))("%s is as it was, or a changeset says what has changed", (kind, name) => {
    const now = surfaces[kind]?.() ?? {};
    expect(now).toHaveProperty([name]);
    expect(unannounced(released(kind), now, readChangesets(), version)).toEqual([]);
  });

  it("every surface has a row on the page about compatibility", () => {
    expect(Object.keys(surfaces)).toEqual(Object.keys(promised));
    const page = readFileSync(join(root, "docs/compatibility.md"), "utf8");
    for (const kind of Object.keys(promised)) expect(page).toContain(`../test/compatibility/${kind}.json`);
  });

  it("the API is compared with its types: of parameters, of fields and of options, but not of what is experimental", () => {
    expect(released("api")).toMatchObject({
      "core: createWorker of @esim-webhooks/core": expect.stringMatching(
        /\(inbox: .*, handlers: .*\): Worker$/,
      ),
      "core: concurrency of WorkerOptions": "concurrency?: number",
      "core: concurrency of createWorker": "optional: concurrency?: number",
      "client: EsimVariant of @esim-webhooks/client": "experimental",
    });
    const now = { ...released("api"), "core: concurrency of WorkerOptions": "concurrency?: string" };
    expect(unannounced(released("api"), now, [], version)).toEqual([
      expect.stringMatching(
        /^core: concurrency of WorkerOptions was concurrency\?: number and is concurrency\?: string/,
      ),
    ]);
  });

  it("the codes of outcomes are those that have a status", () => {
    const codes = packageExports().names().get("@esim-webhooks/core")?.get("OutcomeCode") ?? [];
    expect(Object.keys(released("status-contract")).length).toBe(codes.length);
    expect(released("status-contract")).toMatchObject({ "core: busy": "503", "core: processed": "200" });
  });
});

describe("a change of what users rely on", () => {
  const before = { "core: busy": "503", "core: failed": "500" };
  const changeset = (bump: "patch" | "minor" | "major", text: string, of = "core"): Changeset => ({
    bumps: { [`@esim-webhooks/${of}`]: bump },
    text,
  });
  const changed = { ...before, "core: busy": "409" };
  const gone = { "core: failed": "500" };
  const added = { ...before, "core: asleep": "503" };

  it.each([
    ["without a changeset", changed, [], "0.3.0"],
    ["with a changeset that does not name it", changed, [changeset("major", "Other answers.")], "0.3.0"],
    ["with a changeset for another package", changed, [changeset("minor", "`busy` is 409.", "cli")], "0.3.0"],
    ["in a patch", gone, [changeset("patch", "There is no `busy`.")], "0.3.0"],
    ["in a minor release, from 1.0 on", gone, [changeset("minor", "There is no `busy`.")], "1.2.0"],
    ["that is new, without a changeset", added, [], "0.3.0"],
  ])("is refused %s", (_, now, changesets, at) => {
    expect(unannounced(before, now, changesets, at)).toEqual([
      expect.stringMatching(
        /^core: (?:busy|asleep) (?:is gone|is new|was 503 and is 409)\. Add a changeset for this package \(npx changeset\): /,
      ),
    ]);
  });

  it.each([
    [
      "that a minor release announces by name, before 1.0",
      changed,
      [changeset("minor", "`busy` is 409.")],
      "0.3.0",
    ],
    ["that a major release announces by name", gone, [changeset("major", "There is no `busy`.")], "1.2.0"],
    [
      "that is new, with any changeset for its package",
      added,
      [changeset("patch", "Another outcome.")],
      "1.2.0",
    ],
    ["of a package that was not released before", { ...before, "lambda: handler": "exported" }, [], "1.2.0"],
  ])("is accepted %s", (_, now, changesets, at) => {
    expect(unannounced(before, now, changesets, at)).toEqual([]);
  });
});

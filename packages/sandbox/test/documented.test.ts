import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "../../../test/run.ts";
import { switchesSchema } from "../src/base/switches.ts";
import { createAdvance } from "../src/control/advance.ts";
import { createControl } from "../src/control/app.ts";
import { createChanges } from "../src/control/changes.ts";
import { faultKinds } from "../src/faults/fault.ts";
import { createFaults } from "../src/faults/faults.ts";
import { createSender } from "../src/sender/sender.ts";
import { testService } from "./service.ts";

const page = readFileSync(join(root, "docs/sandbox.md"), "utf8");

it("docs/sandbox.md has every switch with its default", () => {
  const defaults = Object.entries(switchesSchema.parse({}));
  const rows = [...page.matchAll(/^\| `(\w+)` \| `(\w+)`, /gm)].map(([, name, value]) => [name, value]);
  expect(rows.sort()).toEqual(defaults.map(([name, value]) => [name, String(value)]).sort());
});

it("docs/sandbox.md has every kind of fault", () => {
  const [, faults = ""] = /^## Faults$([\s\S]*?)^## /m.exec(page) ?? [];
  const rows = [...faults.matchAll(/^\| `(\w+)` \|/gm)].map(([, kind]) => kind);
  expect(rows).toEqual(faultKinds);
});

it("docs/sandbox.md has every call of the control side", async () => {
  const service = testService();
  const faults = createFaults(service.random);
  const sender = createSender(service, faults);
  const changes = createChanges();
  const parts = { service, faults, sender, changes, manualClock: undefined, speed: 1, clientReference: "" };
  const calls = createControl(parts, createAdvance(parts))
    .routes.filter(({ method }) => method !== "ALL")
    .map(({ method, path }) => `${method} ${path}`);
  await sender.close();
  const documented = [...page.matchAll(/^\| (`(?:GET|POST|PATCH|DELETE) .*?`) \|/gm)].flatMap(
    ([, cell = ""]) => {
      let whole = "";
      return [...cell.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => {
        if (text.includes(" ")) whole = text;
        return text.includes(" ") ? text : whole.replace(/\/\w+$/, text);
      });
    },
  );
  expect(documented.sort()).toEqual([...new Set(calls)].sort());
});

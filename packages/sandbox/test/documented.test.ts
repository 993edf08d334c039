import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { root } from "../../../test/run.ts";
import { addClient } from "../src/account/clients.ts";
import { createRateLimits } from "../src/api/call/rate-limit.ts";
import { faultKinds } from "../src/base/fault.ts";
import { createFaults } from "../src/base/faults.ts";
import { switchesSchema } from "../src/base/switches.ts";
import { createAdvance } from "../src/control/advance.ts";
import { createControl } from "../src/control/app.ts";
import { createChanges } from "../src/control/changes.ts";
import { esimHandle } from "../src/control/esim-handle.ts";
import { createHandle } from "../src/control/handle.ts";
import type { Parts } from "../src/control/parts.ts";
import { orderEsim } from "../src/lifecycle/order-esim.ts";
import { newNumberSchema } from "../src/number/allocate-number.ts";
import { newPortInSchema } from "../src/number/new-port-in.ts";
import { createSender } from "../src/sender/sender.ts";
import { testService } from "./service.ts";

const page = readFileSync(join(root, "docs/sandbox.md"), "utf8");

function givenParts(): Parts {
  const service = testService();
  const faults = createFaults(service.random);
  const sender = createSender(service, faults);
  onTestFinished(() => sender.close());
  const changes = createChanges();
  return {
    service,
    faults,
    sender,
    limits: createRateLimits(service),
    changes,
    manualClock: undefined,
    speed: 1,
    clientReference: "",
  };
}

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

it("docs/sandbox.md has every method of the handle and of an eSIM", () => {
  const parts = givenParts();
  const { clientId } = addClient(parts.service);
  const handle = createHandle({ ...parts, clientReference: clientId }, createAdvance(parts));
  const esim = esimHandle(parts.service, orderEsim(parts.service, clientId).esimReference);
  const methods = (value: object, name = ""): string[] =>
    Object.entries(value).flatMap(([key, inner]) => {
      if (typeof inner === "object") return methods(inner, `${name}${key}.`);
      return typeof inner === "function" ? [name + key] : [];
    });
  const documented = [...page.matchAll(/^\| `(?:GET|POST|PATCH|DELETE) .*\|(.*)\|$/gm)].flatMap(
    ([, cell = ""]) => [...cell.matchAll(/`([\w.]+)`/g)].map(([, name]) => name),
  );
  expect([...documented, "settled"].sort()).toEqual([...methods(handle), ...methods(esim, "esim.")].sort());
});

it("docs/sandbox.md shows bodies that the calls take", () => {
  const [portIn, number] = [...page.matchAll(/ -d '(\{\n[\s\S]*?\})'\n/g)].map(([, body = ""]) =>
    JSON.parse(body.replace("'$ESIM'", "1")),
  );
  expect(newPortInSchema.safeParse(portIn)).toMatchObject({ success: true });
  expect(newNumberSchema.safeParse(number)).toMatchObject({ success: true });
});

it("docs/sandbox.md has every call of the control side", () => {
  const parts = givenParts();
  const calls = createControl(parts, createAdvance(parts), { api: () => "", receiver: () => "" })
    .routes.filter(({ method }) => method !== "ALL")
    .map(({ method, path }) => `${method} ${path}`);
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

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { registration } from "../../src/ensure/ensure-endpoint.ts";
import { replacement } from "../../src/ensure/replacement-steps.ts";
import { rotation } from "../../src/rotate/rotation-steps.ts";

const page = readFileSync(join(import.meta.dirname, "../../../../docs/design/endpoint.md"), "utf8");

/** The arrows of the diagram in this section of the page. */
function drawn(heading: string): string[] {
  const section = page.split(/^#+ /m).find((text) => text.startsWith(`${heading}\n`)) ?? "";
  const [, diagram = ""] = /```mermaid\nstateDiagram-v2\n([\s\S]*?)```/.exec(section) ?? [];
  return diagram.split("\n").flatMap((line) => line.trim() || []);
}

/** The arrows of a table of steps. */
function arrows(
  steps: Readonly<Record<string, { readonly next: Readonly<Record<string, string>> }>>,
): string[] {
  return Object.entries(steps).flatMap(([from, { next }]) =>
    Object.entries(next).map(([to, when]) => {
      return `${from === "none" ? "[*]" : from} --> ${to === "end" ? "[*]" : to}: ${when}`;
    }),
  );
}

it.each([
  ["The steps of a rotation", rotation],
  ["The steps of a registration", registration],
  ["The steps of a replacement", replacement],
])(
  "docs/design/endpoint.md draws each step that the code can take, and no other: %s",
  (heading, { steps }) => {
    expect(drawn(heading)).toEqual(arrows(steps));
  },
);

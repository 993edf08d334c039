import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pageUrl } from "../packages/core/src/base/pages.ts";
import type { OutcomeCode } from "../packages/core/src/receive/outcome.ts";
import { verdictOf } from "../packages/core/src/receive/reply.ts";
import { linkedRules } from "../scripts/release/manifest.ts";
import { anchorsIn } from "./anchors.ts";
import { root } from "./run.ts";

const read = (file: string) => readFileSync(join(root, file), "utf8");
const rules = read("packages/otel/monitoring/rules.yml");
const alerts = rules
  .split(/^ +- alert: /m)
  .slice(1)
  .map((text) => ({
    name: /^\w+/.exec(text)?.[0] ?? "",
    severity: /severity: (\w+)/.exec(text)?.[1],
    url: /^ +runbook_url: (\S+)$/m.exec(text)?.[1] ?? "no page",
  }));

it("every alert links to an entry of the runbook, by a URL of the repository or of its pages", () => {
  expect(rules, "run npm run docs").toBe(linkedRules(rules));
  const linked = new Set(
    anchorsIn(read("docs/runbook.md")).map((anchor) => `${pageUrl("docs/runbook.md")}#${anchor}`),
  );
  expect(alerts.filter(({ url }) => !linked.has(url))).toEqual([]);
  expect(URL.canParse(pageUrl("docs/runbook.md"))).toBe(true);
});

it("docs/operations.md has a row for each alert, with its severity and the entry of the runbook that it names", () => {
  const rows = read("docs/operations.md").matchAll(
    /^\| `(EsimWebhooks\w+)` \| (\w+) \|.*\]\((runbook\.md#[\w-]+)\)/gm,
  );
  expect(
    Array.from(rows, ([, name, severity, page]) => ({ name, severity, url: pageUrl(`docs/${page}`) })),
  ).toEqual(alerts);
  expect(alerts.length).toBeGreaterThan(9);
});

it("the rules and the dashboard count the deliveries that failed, and those that were refused, as the log does", () => {
  const verdicts = Map.groupBy(
    Array.from(
      read("docs/status-contract.md").matchAll(/^\| `(\w+)` \| \d+/gm),
      ([, code]) => code as OutcomeCode,
    ),
    verdictOf,
  );
  expect([...verdicts.keys()].sort()).toEqual(["accepted", "deferred", "failed", "refused"]);
  expect(verdicts.get("deferred")).toEqual(["busy", "retry_later", "shutting_down", "endpoint_unconfirmed"]);
  const dashboard = read("packages/otel/monitoring/dashboard.json");
  const outcomes = (text: string, operator: string) =>
    Array.from(
      text.matchAll(new RegExp(`outcome${operator}\\\\?"(\\w+\\|[\\w|]+)\\\\?"`, "g")),
      ([, codes = ""]) => codes.split("|").sort(),
    );
  expect(outcomes(rules, "=~")).toContainEqual(verdicts.get("failed")?.toSorted());
  expect(dashboard).toContain("esim_webhooks:deliveries_failed:increase10m");
  for (const text of [rules, dashboard])
    expect(outcomes(text, "!~")).toEqual([verdicts.get("refused")?.toSorted()]);
});

it("the dashboard shows every metric and every recorded increase that an alert looks at", () => {
  const metricsIn = (text: string): readonly string[] =>
    text
      .replaceAll(/#.*|\b(?:by|on|ignoring) \([^)]*\)/g, "")
      .match(/\b(?:esim_webhooks|messaging)[_:][\w:]+|\bup(?=\{)/g) ?? [];
  const shown = metricsIn(read("packages/otel/monitoring/dashboard.json"));
  const looked = metricsIn(rules.slice(rules.indexOf("- alert:")));
  expect(looked.length).toBeGreaterThan(20);
  expect(looked.filter((metric) => !shown.includes(metric))).toEqual([]);
});

it("no panel of the dashboard takes the rate of failures, which does not see the first of a new series", () => {
  const rates = read("packages/otel/monitoring/dashboard.json").match(/(?:rate|increase)\([^[]*\[/g) ?? [];
  expect(
    rates.filter((rate) => /error|dead|retry|failed|no_matching|ended_key|recovered/.test(rate)),
  ).toEqual([]);
});

it("each entry that an alert leads to has a command below its title, before any other heading", () => {
  const [, ...entries] = read("docs/runbook.md").split(/^#+ /m);
  const withCommand = new Set(
    entries.filter((entry) => entry.includes("```sh\n")).map((entry) => anchorsIn(`## ${entry}`)[0]),
  );
  expect(alerts.filter(({ url }) => !withCommand.has(url.split("#")[1]))).toEqual([]);
});

it("every alert fires in a test of the rules, and has ended later in that test", () => {
  const tests = read("packages/otel/monitoring/rules.test.yml")
    .split(/^ {2}- name: /m)
    .slice(1);
  const ends = tests.flatMap((test) => {
    const checks = test
      .split(/^ {6}- /m)
      .slice(1)
      .filter((check) => check.includes("eval_time:"));
    const last = checks.at(-1);
    return last?.includes("exp_samples")
      ? []
      : checks.flatMap((check) => check.match(/EsimWebhooks\w+/g) ?? []);
  });
  expect(ends).toEqual(expect.arrayContaining(alerts.map(({ name }) => name)));
});

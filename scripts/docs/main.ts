// npm run docs: writes the pages that are made from doc comments and from data, and the package.json fields that all packages
// share, and bundles the dashboard's page. Tests check that they are current.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { linkedRules, publishedManifest, readManifests } from "../release/manifest.ts";
import { eventFiles } from "./asyncapi.ts";
import { claimsPage, readClaims } from "./claims-page.ts";
import { dashboardAssets } from "./dashboard-page.ts";
import { demoPicture } from "./demo-picture.ts";
import { errorsPage, readErrorCodes, readErrors } from "./errors-page.ts";
import { eventsPage, readEvents } from "./events-page.ts";
import { llmsFullText, llmsText } from "./llms.ts";
import { logLinesPage, readLogLines } from "./log-lines.ts";
import { metricsPage } from "./metrics-page.ts";
import { optionsPage, readOptions } from "./options-page.ts";
import { root } from "./read-types.ts";
import { reliabilityPage } from "./reliability-page.ts";
import { sandboxPage } from "./sandbox-page.ts";
import { stateMachinePage } from "./state-machine-page.ts";

writeFileSync(join(root, "docs/claims.md"), claimsPage(readClaims()));
rewrite("docs/errors.md", (page) => errorsPage(page, readErrors(), readErrorCodes()));
rewrite("docs/events.md", (page) => eventsPage(page, readEvents()));
rewrite("docs/log-lines.md", (page) => logLinesPage(page, readLogLines()));
rewrite("docs/observing.md", metricsPage);
rewrite("docs/options.md", (page) => optionsPage(page, readOptions()));
rewrite("docs/reliability.md", reliabilityPage);
rewrite("docs/sandbox.md", sandboxPage);
rewrite("docs/state-machine.md", stateMachinePage);
rewrite("packages/otel/monitoring/rules.yml", linkedRules);
for (const [folder, manifest] of readManifests())
  rewrite(
    join(folder, "package.json"),
    () => `${JSON.stringify(publishedManifest(manifest, folder), null, 2)}\n`,
  );
writeFileSync(join(root, "llms.txt"), llmsText());
writeFileSync(join(root, "llms-full.txt"), llmsFullText()); // only for the site: it is not committed
mkdirSync(join(root, "packages/core/events"), { recursive: true });
for (const [name, text] of eventFiles()) writeFileSync(join(root, "packages/core/events", name), text);
for (const [name, text] of await dashboardAssets())
  writeFileSync(join(root, "packages/dashboard/assets", name), text);

const demo = [
  "--disable-warning=ExperimentalWarning",
  "--conditions=@esim-webhooks/source",
  "examples/demo/main.ts",
];
const printed = execFileSync(process.execPath, demo, { cwd: root, encoding: "utf8" });
writeFileSync(join(root, "docs/images/demo.svg"), demoPicture(printed));

function rewrite(file: string, change: (page: string) => string): void {
  const path = join(root, file);
  writeFileSync(path, change(readFileSync(path, "utf8")));
}

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sampleData } from "@esim-webhooks/core/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createSchema, type TestSchema } from "../packages/store-postgres/test/schema.ts";
import { root } from "./run.ts";
import { postgresUrl } from "./servers/shared.ts";

const data = sampleData("esim.enabled");

function* dump(records: number): Generator<string> {
  for (let begin = 0; begin < records; begin += 100) {
    const lines = Array.from({ length: 100 }, (_, index) => {
      const timestamp = new Date(1.79e12 - (begin + index) * 1000).toISOString();
      const payload = { type: "esim.enabled", timestamp, data };
      const answers = { status: "failed", attemptNumber: 10, httpStatus: 503, sentAt: timestamp };
      return `${JSON.stringify({ eventType: "esim.enabled", eventId: `msg_${begin + index}`, payload, ...answers })}\n`;
    });
    yield lines.join("");
  }
}

/** The most memory that a process had, in MiB, as Linux counts it. */
function peakOf(pid: number | undefined): number {
  const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kibibytes) / 1024;
}

/** Imports that many records in a dry run, and into Postgres. */
export function importInLittleMemory({
  dry,
  stored,
}: {
  readonly dry: number;
  readonly stored: number;
}): void {
  const folder = mkdtempSync(join(tmpdir(), "import-memory-"));
  let schema: TestSchema;

  beforeAll(async () => {
    schema = await createSchema(postgresUrl);
    execFileSync(join(root, "node_modules/.bin/tsc"), ["-b", join(root, "packages/cli")]);
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    const options = JSON.stringify({ url: postgresUrl, schema: schema.schema });
    writeFileSync(
      join(folder, "esim-webhooks.config.mjs"),
      `import { postgresInbox } from "@esim-webhooks/store-postgres";
     export default { target: postgresInbox(${options}) };`,
    );
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await schema.drop();
  });

  it.each([
    [`a dry run of ${dry.toLocaleString("en")} records`, dry, ["--dry-run"]],
    [`the import of ${stored.toLocaleString("en")} records into Postgres`, stored, []],
  ] as const)("%s needs less than 150 MB of memory", async (_, records, flags) => {
    // the built package, as users have it: compiling the sources takes memory too
    const args = [
      join(root, "packages/cli/bin/esim-webhooks.js"),
      "import",
      "-",
      "--trust-unsigned",
      "--json",
    ];
    const child = spawn(process.execPath, [...args, ...flags], {
      cwd: folder,
      stdio: ["pipe", "pipe", "ignore"],
    });
    let printed = "";
    child.stdout.on("data", (chunk) => {
      printed += chunk;
    });
    for (const lines of dump(records)) if (!child.stdin.write(lines)) await once(child.stdin, "drain");
    const peak = peakOf(child.pid); // of all but the last few records
    child.stdin.end();
    await once(child, "close");
    expect(JSON.parse(printed)).toMatchObject({ ledger: { read: records, stored: records }, damage: null });
    expect(peak).toBeLessThan(150);
  });
}

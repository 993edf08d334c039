// npm run bench -- lambda: the cold start of a bundled function, compared with a bare one and with Powertools' idempotency.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { build } from "esbuild";
import { startDynalite, table } from "../packages/lambda/test/dynalite.ts";
import { median } from "./measure.ts";

const rounds = 15;
const later = 20;
const names = {
  bare: "bare: parses, and answers 200",
  memory: "esim-webhooks, memory store",
  dynamo: "esim-webhooks, DynamoDB",
  powertools: "Powertools' idempotency, DynamoDB",
};
type Name = keyof typeof names;

interface Measured {
  readonly statusCode: number;
  /** From the import of the bundle to the first answer. */
  readonly firstMs: number;
  /** The CPU of the process in that time: unlike the time itself, it does not depend on what else the machine does. */
  readonly cpuMs: number;
  /** After the first answer, in bytes. */
  readonly rss: number;
  readonly laterMs: number;
}

export async function benchLambda(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "esim-webhooks-bench-"));
  const server = await startDynalite();
  const secret = newSecret();
  const env = {
    ...process.env,
    ESIM_WEBHOOK_SECRET: secret,
    TABLE: table,
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    AWS_ENDPOINT_URL_DYNAMODB: server.url,
    AWS_LAMBDA_FUNCTION_NAME: "bench",
    NODE_COMPILE_CACHE: "",
  };
  try {
    const found = new Map((Object.keys(names) as Name[]).map((name) => [name, [] as Measured[]]));
    for (const name of found.keys()) await bundle(name, folder);
    for (let round = -1; round < rounds; round++) {
      for (const [name, all] of found) {
        const measured = coldStart(join(folder, `${name}.mjs`), events(secret), env);
        if (round >= 0) all.push(measured); // the first round fills the system's file cache
      }
    }
    report(found, folder);
  } finally {
    await server.close();
    rmSync(folder, { recursive: true });
  }
}

async function bundle(name: Name, folder: string): Promise<void> {
  await build({
    entryPoints: [join(import.meta.dirname, `lambda/${name}.ts`)],
    outfile: join(folder, `${name}.mjs`),
    conditions: ["@esim-webhooks/source"],
    mainFields: ["module", "main"], // the SDK's modules, which are smaller
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    target: "node24",
  });
}

function events(secret: string): object[] {
  return Array.from({ length: 1 + later }, () => {
    const { headers, body } = signedRequest(
      { type: "esim.faulted", data: sampleData("esim.faulted") },
      { secret },
    );
    const requestContext = { http: { method: "POST" } };
    return { version: "2.0", rawPath: "/", headers, body, isBase64Encoded: false, requestContext };
  });
}

function coldStart(file: string, given: readonly object[], env: NodeJS.ProcessEnv): Measured {
  const script = join(import.meta.dirname, "lambda/cold-start.mjs");
  const { stdout, stderr } = spawnSync(process.execPath, [script, file], {
    input: JSON.stringify(given),
    encoding: "utf8",
    env,
  });
  const measured = JSON.parse(stdout || "{}") as Measured;
  if (measured.statusCode !== 200) throw new Error(`${file} did not answer 200: ${stdout} ${stderr}`);
  return measured;
}

function report(found: ReadonlyMap<Name, readonly Measured[]>, folder: string): void {
  const of = (name: Name, value: (one: Measured) => number) => median((found.get(name) ?? []).map(value));
  console.log(
    "\nlambda: a bundled function from its import to its first answer, the CPU of that, its memory then, and each later answer",
  );
  for (const name of found.keys()) {
    const kilobytes = statSync(join(folder, `${name}.mjs`)).size / 1000;
    const figures = [
      `${kilobytes.toFixed(0)} kB`,
      `${of(name, ({ firstMs }) => firstMs).toFixed(1)} ms`,
      `${of(name, ({ cpuMs }) => cpuMs).toFixed(1)} ms`,
      `${(of(name, ({ rss }) => rss) / 2 ** 20).toFixed(1)} MiB`,
      `${of(name, ({ laterMs }) => laterMs).toFixed(2)} ms`,
    ];
    console.log(`  ${names[name].padEnd(36)} ${figures.map((figure) => figure.padStart(10)).join("")}`);
  }
  const ratio = (one: Name, other: Name, value: (one: Measured) => number) =>
    (of(one, value) / of(other, value)).toFixed(2);
  const memory = ({ rss }: Measured) => rss;
  console.log(
    `  of Powertools: first answer ${ratio("dynamo", "powertools", ({ firstMs }) => firstMs)}, ` +
      `its CPU ${ratio("dynamo", "powertools", ({ cpuMs }) => cpuMs)}, memory ${ratio("dynamo", "powertools", memory)}, ` +
      `later answers ${ratio("dynamo", "powertools", ({ laterMs }) => laterMs)}`,
  );
  console.log(
    `  memory of bare: ${ratio("memory", "bare", memory)}, with DynamoDB ${ratio("dynamo", "bare", memory)}`,
  );
}

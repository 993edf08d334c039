import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installed } from "./installed.ts";
import { root, runCommand } from "./run.ts";

const home = mkdtempSync(join(tmpdir(), "esim-webhooks-next-"));
const app = join(home, "app");
const packages = installed("test/next");
const next = join(packages, "next/dist/bin/next");
const secret = newSecret();

const withoutSecret = { NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "production", ESIM_WEBHOOK_SECRET: "" };

beforeAll(() => {
  symlinkSync(join(root, "node_modules"), join(home, "node_modules"));
  const core = join(app, "node_modules/@esim-webhooks/core");
  mkdirSync(core, { recursive: true });
  for (const name of ["next", "react", "react-dom"]) {
    symlinkSync(join(packages, name), join(app, "node_modules", name));
  }
  copyFileSync(join(root, "packages/core/package.json"), join(core, "package.json"));
  // not into packages/core/dist, which another test may be packing
  const built = ["--outDir", join(core, "dist"), "--tsBuildInfoFile", join(home, "core.tsbuildinfo")];
  execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", join(root, "packages/core"), ...built]);
  mkdirSync(join(app, "app/webhooks"), { recursive: true });
  writeFileSync(join(app, "package.json"), '{ "type": "module" }');
  // Next.js itself is linked, and so outside the application's folder
  writeFileSync(join(app, "next.config.js"), 'export default { turbopack: { root: "/" } };');
  writeFileSync(
    join(app, "app/webhooks/route.js"),
    `import { webhookHandler } from "@esim-webhooks/core";
export const POST = webhookHandler({ "esim.faulted": ({ data }) => console.log("faulted:", data.reason) });
`,
  );
  execFileSync(process.execPath, [next, "build"], {
    cwd: app,
    env: { ...process.env, ...withoutSecret },
    stdio: ["ignore", "ignore", "inherit"],
  });
});

afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Serves the build, as on a server with these variables. */
async function start(variables: Record<string, string> = {}) {
  const server = runCommand(
    process.execPath,
    [next, "start", app, "--hostname", "127.0.0.1", "--port", "0"],
    { ...withoutSecret, ...variables },
  );
  const [, url] = await server.line(/(http:\/\/127\.0\.0\.1:\d+)/);
  return {
    async deliver(): Promise<[number, unknown]> {
      const event = { type: "esim.faulted", data: sampleData("esim.faulted") } as const;
      const response = await fetch(`${url}/webhooks`, signedRequest(event, { secret }));
      return [response.status, await response.json()];
    },
    async end(): Promise<string> {
      server.child.kill("SIGTERM");
      return (await server.ended).output;
    },
  };
}

describe("a route of Next.js that was built without a secret", () => {
  it("works a signed delivery on a server that has the secret", async () => {
    const server = await start({ ESIM_WEBHOOK_SECRET: secret });
    expect(await server.deliver()).toEqual([200, { outcome: "processed" }]);
    expect(await server.end()).toContain("faulted: ");
  });

  it("answers 503 on a server without one, and says once what to set", async () => {
    const server = await start();
    for (let n = 0; n < 2; n++) {
      expect(await server.deliver()).toMatchObject([503, { code: "missing_secret" }]);
    }
    expect((await server.end()).match(/Set ESIM_WEBHOOK_SECRET/g)).toHaveLength(1);
  });
});

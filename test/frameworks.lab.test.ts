import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { installed } from "./installed.ts";
import { root, runCommand } from "./run.ts";
import { freePort } from "./servers/kept-server.ts";

const home = mkdtempSync(join(tmpdir(), "esim-webhooks-frameworks-"));
const packages = installed("test/frameworks");
const manifestIn = (folder: string) => JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
const coreManifest = manifestIn("packages/core");
const { dependencies } = manifestIn("test/frameworks"); // or React Router would install what is not among them
const secret = newSecret();

/** How an application is made around an example, built, and started. Commands are files of packages, run by Node.js. */
interface Framework {
  readonly example: string;
  /** Where its users have the file. */
  readonly route: string;
  readonly files: Readonly<Record<string, string>>;
  readonly build: readonly string[];
  readonly start: readonly string[];
}

const frameworks: Readonly<Record<string, Framework>> = {
  SvelteKit: {
    example: "sveltekit.ts",
    route: "src/routes/webhooks/+server.ts",
    files: {
      "vite.config.js": `import adapter from "@sveltejs/adapter-node";
import { sveltekit } from "@sveltejs/kit/vite";
export default { plugins: [sveltekit({ adapter: adapter() })] };`,
      "src/app.html": "<html><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>",
    },
    build: ["vite/bin/vite.js", "build"],
    start: ["build/index.js"],
  },
  Nuxt: {
    example: "nuxt.ts",
    route: "server/routes/webhooks.ts",
    files: {
      "nuxt.config.ts": 'export default { compatibilityDate: "2026-01-01", telemetry: false };',
      "app/app.vue": "<template><main /></template>",
    },
    build: ["nuxt/bin/nuxt.mjs", "build"],
    start: [".output/server/index.mjs"],
  },
  "React Router": {
    example: "react-router.ts",
    route: "app/routes/webhooks.ts",
    files: {
      "vite.config.js": `import { reactRouter } from "@react-router/dev/vite";
export default { plugins: [reactRouter()] };`,
      "app/routes.ts": `import { route } from "@react-router/dev/routes";
export default [route("webhooks", "routes/webhooks.ts")];`,
      "app/root.tsx": `import { Outlet } from "react-router";
export default () => <html lang="en"><body><Outlet /></body></html>;`,
    },
    build: ["@react-router/dev/bin.cjs", "build"],
    start: ["@react-router/serve/bin.cjs", "build/server/index.js"],
  },
  Astro: {
    example: "astro.ts",
    route: "src/pages/webhooks.ts",
    files: {
      "astro.config.mjs": `import node from "@astrojs/node";
export default { adapter: node({ mode: "standalone" }) };`,
    },
    build: ["astro/bin/astro.mjs", "build"],
    start: ["dist/server/entry.mjs"],
  },
};

const quiet = {
  ASTRO_TELEMETRY_DISABLED: "1",
  NUXT_TELEMETRY_DISABLED: "1",
  NODE_ENV: "production",
  ESIM_WEBHOOK_SECRET: "",
};

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** A command's own file: in a package, or else in the application. */
const inPackage = (file: string) => (/\/bin/.test(file) ? join(packages, file) : file);

beforeAll(() => {
  symlinkSync(packages, join(home, "node_modules"));
  const core = join(home, "core");
  mkdirSync(core);
  copyFileSync(join(root, "packages/core/package.json"), join(core, "package.json"));
  // not into the package's own dist, which another test may be packing, and unchecked, since the packages that it uses may not be built
  const built = ["--outDir", join(core, "dist"), "--tsBuildInfoFile", join(home, "core.tsbuildinfo")];
  execFileSync(join(root, "node_modules/.bin/tsc"), [
    "-p",
    join(root, "packages/core"),
    "--noCheck",
    ...built,
  ]);
});

afterAll(() => rmSync(home, { recursive: true, force: true }));

describe.each(Object.entries(frameworks))("examples/platforms in an application of %s", (name, framework) => {
  const app = join(home, framework.example.replace(".ts", ""));

  it("is built without a secret, takes a delivery, refuses a forged one, and answers a redelivery without running it", async () => {
    write(join(app, "package.json"), JSON.stringify({ name: "app", type: "module", dependencies }));
    for (const [file, text] of Object.entries(framework.files)) write(join(app, file), text);
    write(join(app, framework.route), "");
    copyFileSync(join(root, "examples/platforms", framework.example), join(app, framework.route));
    cpSync(join(home, "core"), join(app, "node_modules/@esim-webhooks/core"), { recursive: true });
    for (const name of Object.keys(coreManifest.dependencies)) {
      const link = join(app, "node_modules", name);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(root, "node_modules", name), link);
    }

    const [builder = "", ...args] = framework.build;
    execFileSync(process.execPath, [inPackage(builder), ...args], {
      cwd: app,
      env: { ...process.env, ...quiet },
      stdio: ["ignore", "ignore", "inherit"],
    });
    const port = String(await freePort());
    const [program = "", ...rest] = framework.start;
    const variables = { ...quiet, ESIM_WEBHOOK_SECRET: secret, HOST: "127.0.0.1", PORT: port };
    const server = runCommand(process.execPath, [inPackage(program), ...rest], variables, app);
    onTestFinished(() => void server.child.kill());
    await server.line(/:\/\/\S*:\d+/);

    const url = `http://127.0.0.1:${port}/webhooks`;
    const event = { type: "esim.faulted", data: sampleData("esim.faulted") } as const;
    const request = signedRequest(event, { secret });
    const send = async (delivery: RequestInit) => {
      const response = await fetch(url, delivery);
      const { outcome, code } = (await response.json()) as { outcome?: string; code?: string };
      return [response.status, outcome ?? code];
    };
    expect(await send(request), name).toEqual([200, "processed"]);
    await server.line(/^faulted: download_order_expired/);
    expect(await send(request)).toEqual([200, "duplicate"]);
    expect(await send(signedRequest(event, { secret: newSecret() }))).toEqual([401, "no_matching_key"]);
  });
});

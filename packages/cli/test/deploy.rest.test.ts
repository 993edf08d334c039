import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newSecret } from "@esim-webhooks/core/testing";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { root } from "../../../test/run.ts";
import { find } from "../../../test/servers/binaries.ts";
import { freePort } from "../../../test/servers/kept-server.ts";
import { promtool } from "../../../test/servers/prometheus.ts";
import { postgresUrl } from "../../../test/servers/shared.ts";
import { cli, folder, start } from "./cli.ts";

const read = (file: string) => readFileSync(join(root, "examples", file), "utf8");

interface Service {
  readonly command: readonly string[];
  readonly read_only?: boolean;
}

const compose = parse(read("deploy/compose.yaml"), { merge: true }) as {
  readonly services: Readonly<Record<"migrate" | "receiver" | "worker", Service>>;
  readonly configs: { readonly prometheus: { readonly content: string } };
};

/** A folder that is removed at the end of the test. */
function newFolder(): string {
  const path = mkdtempSync(join(tmpdir(), "esim-webhooks-deploy-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** The URL of a new database, which is dropped at the end of the test. */
async function newDatabase(): Promise<string> {
  const name = `deploy_${randomUUID().replaceAll("-", "").slice(0, 12)}`;
  const run = async (sql: string) => {
    const client = new pg.Client({ connectionString: postgresUrl });
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };
  await run(`create database ${name}`);
  onTestFinished(() => run(`drop database if exists ${name} with (force)`));
  const url = new URL(postgresUrl);
  url.pathname = `/${name}`;
  return url.href;
}

describe("examples/deploy/compose.yaml", () => {
  it("migrates, then runs a receiver and a worker that become ready, and stop on SIGTERM", async () => {
    const { migrate, receiver, worker } = compose.services;
    const cwd = folder({ "handlers.config.mts": read("deploy/handlers.config.mts") });
    const env = { DATABASE_URL: await newDatabase(), ESIM_WEBHOOK_SECRET: newSecret() };
    expect(await cli(migrate.command, { cwd, env })).toMatchObject({ code: 0 });
    for (const { command } of [receiver, worker]) {
      const port = await freePort();
      const local = command
        .join(" ")
        .replaceAll("0.0.0.0", "127.0.0.1")
        .replace("--drain 15s", "--port 0")
        .replace("9464", String(port));
      const running = start(local.split(" "), { cwd, env });
      const isReady = async () =>
        (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.status;
      await expect.poll(isReady).toBe(200);
      running.kill("SIGTERM");
      expect(await running.ended).toMatchObject({ code: 0 });
    }
  });

  it("gives no container that runs the command line a writable root", () => {
    const { migrate, receiver, worker } = compose.services;
    expect([migrate, receiver, worker].map((service) => service.read_only)).toEqual([true, true, true]);
  });

  it("has a config that Prometheus accepts, with the rules of the package", () => {
    const path = newFolder();
    writeFileSync(join(path, "prometheus.yml"), compose.configs.prometheus.content);
    const rules = readFileSync(join(root, "packages/otel/monitoring/rules.yml"));
    writeFileSync(join(path, "rules.yml"), rules);
    const { code, output } = promtool(path, "check", "config", "prometheus.yml");
    expect(code, output).toBe(0);
  });
});

describe("examples/deploy/Dockerfile", () => {
  const lines = read("deploy/Dockerfile").split("\n");
  const last = (instruction: string) =>
    lines.findLast((line) => line.startsWith(`${instruction} `))?.slice(instruction.length + 1) ?? "";

  it("ends as another user than root, and runs what compose.yaml runs", () => {
    expect(last("FROM")).toMatch(/-slim$/);
    expect(last("USER")).toBe("node");
    expect(last("ENTRYPOINT")).toBe('["/app/node_modules/.bin/esim-webhooks"]');
    expect([...JSON.parse(last("CMD"))].sort()).toEqual([...compose.services.receiver.command].sort());
  });
});

describe("examples/deploy/esim-webhooks.service", () => {
  const unit = read("deploy/esim-webhooks.service");

  it("reports a start that has failed, and leaves more time than a drain needs", () => {
    expect(unit).toContain("\nType=exec\n");
    expect(Number(/TimeoutStopSec=(\d+)/.exec(unit)?.[1])).toBeGreaterThanOrEqual(15 + 25 + 10);
  });

  const analyze = find("systemd-analyze");
  it.skipIf(analyze === undefined)("is accepted by systemd", () => {
    const path = join(newFolder(), "esim-webhooks.service");
    writeFileSync(path, unit.replace(/^(ExecStart=)\S+/m, `$1${process.execPath}`));
    const { status, stderr } = spawnSync(analyze ?? "", ["verify", path], { encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });
});

describe("examples/observability/kubernetes.yaml", () => {
  interface Probe {
    readonly periodSeconds: number;
    readonly failureThreshold: number;
  }
  interface Container {
    readonly command: readonly string[];
    readonly startupProbe?: Probe;
    readonly securityContext: Readonly<Record<string, unknown>>;
  }
  interface Manifest {
    readonly kind: string;
    readonly spec: {
      readonly template?: {
        readonly spec: {
          readonly terminationGracePeriodSeconds?: number;
          readonly containers: readonly Container[];
        };
      };
    };
  }
  const manifests = parseAllDocuments(read("observability/kubernetes.yaml")).map(
    (document) => document.toJS() as Manifest,
  );
  const podsOf = (kind: string) =>
    manifests.flatMap(({ kind: one, spec }) => (one === kind && spec.template ? [spec.template.spec] : []));

  it("migrates in a job, and gives a process that migrates at its start half an hour", () => {
    expect(
      podsOf("Job").flatMap(({ containers }) => containers.map(({ command }) => command.at(-1))),
    ).toEqual(["migrate"]);
    const probes = podsOf("Deployment").flatMap(({ containers }) =>
      containers.map((one) => one.startupProbe),
    );
    expect(probes).toHaveLength(2);
    for (const probe of probes)
      expect((probe?.periodSeconds ?? 0) * (probe?.failureThreshold ?? 0)).toBeGreaterThanOrEqual(1800);
  });

  it("runs every container without root, on a root that is read-only, and leaves time for a drain", () => {
    const pods = [...podsOf("Job"), ...podsOf("Deployment")];
    for (const { securityContext } of pods.flatMap(({ containers }) => containers))
      expect(securityContext).toMatchObject({ runAsNonRoot: true, readOnlyRootFilesystem: true });
    expect(podsOf("Deployment").map((pod) => pod.terminationGracePeriodSeconds)).toEqual([60, 60]);
  });
});

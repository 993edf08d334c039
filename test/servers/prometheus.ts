import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { program } from "./binaries.ts";
import { freePort, keepServer, serverFolder, type TestServer } from "./kept-server.ts";

/** A series, and its values: one at each second of a range. Values that are not a number are left out. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly values: readonly number[];
}

export interface Alert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly state: "pending" | "firing";
}

export interface Prometheus extends TestServer {
  /** Returns the current value of an expression. */
  query(expression: string): Promise<readonly Series[]>;
  /** Returns its value at each second since the server was started. */
  queryAll(expression: string): Promise<readonly Series[]>;
  /** The alerts that are pending or firing. */
  alerts(): Promise<readonly Alert[]>;
  /** The errors of rules whose last evaluation failed. */
  ruleErrors(): Promise<readonly string[]>;
}

/** A private Prometheus. `config` is its prometheus.yml; `rules` is the text of the rules.yml that the config names. */
export async function privatePrometheus(config: string, rules: string): Promise<Prometheus> {
  const { path, way } = program("prometheus", "prometheus", "");
  const folder = await serverFolder("prometheus");
  await writeFile(join(folder, "prometheus.yml"), config, { mode: 0o644 });
  await writeFile(join(folder, "rules.yml"), rules, { mode: 0o644 });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const startedAt = Date.now() / 1000;

  async function get<Data>(endpoint: string, parameters: Record<string, string> = {}): Promise<Data> {
    const response = await fetch(`${url}/api/v1/${endpoint}?${new URLSearchParams(parameters)}`);
    const answer = (await response.json()) as { data: Data; error?: string };
    if (answer.error !== undefined) throw new Error(`${parameters["query"]}: ${answer.error}`);
    return answer.data;
  }

  type Sample = readonly [time: number, value: string];
  interface Result {
    readonly metric: Series["labels"];
    readonly value?: Sample;
    readonly values?: readonly Sample[];
  }
  const toSeries = ({ result }: { readonly result: readonly Result[] }): Series[] =>
    result.flatMap(({ metric: labels, value, values = value === undefined ? [] : [value] }) => {
      const numbers = values.map(([, text]) => Number(text)).filter((number) => !Number.isNaN(number));
      return numbers.length === 0 ? [] : [{ labels, values: numbers }];
    });

  const server = await keepServer(way, folder, {
    command: path,
    args: [
      `--config.file=${join(folder, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--log.level=warn",
    ],
    url,
    stopSignal: "SIGTERM",
    async probe() {
      const { ok, status } = await fetch(`${url}/-/ready`);
      if (!ok) throw new Error(`Prometheus answers ${status}.`);
    },
  });
  return {
    ...server,
    query: async (query) => toSeries(await get("query", { query })),
    async queryAll(query) {
      const range = { start: String(startedAt), end: String(Date.now() / 1000), step: "1" };
      return toSeries(await get("query_range", { query, ...range }));
    },
    alerts: async () => (await get<{ alerts: Alert[] }>("alerts")).alerts,
    async ruleErrors() {
      const { groups } = await get<{ groups: { rules: { name: string; lastError?: string }[] }[] }>("rules");
      const rules = groups.flatMap((group) => group.rules);
      return rules.flatMap(({ name, lastError }) => (lastError ? [`${name}: ${lastError}`] : []));
    },
  };
}

/** Runs promtool in a folder. */
export function promtool(
  folder: string,
  ...args: readonly string[]
): { code: number | null; output: string } {
  const { path } = program("promtool", "prometheus", "");
  const { status, stdout, stderr } = spawnSync(path, args, { cwd: folder, encoding: "utf8" });
  return { code: status, output: stdout + stderr };
}

import type { HealthHandler } from "@esim-webhooks/core/health";

/** In the form of Terminus: the names of the checks with `"up"` or the code of the fault. */
export type EsimWebhooksHealth = Record<
  string,
  { readonly status: "up" | "down" } & Readonly<Record<string, string>>
>;

/** The result of a probe of core, as that of a health indicator with the name `key`. Without a probe, the application is starting. */
export async function nestHealth(key: string, probe: HealthHandler | undefined): Promise<EsimWebhooksHealth> {
  if (probe === undefined) return { [key]: { process: "starting", status: "down" } };
  const { ok, checks } = await probe.check();
  const shown = checks.map(({ name, code = "up" }) => [name, code]);
  return { [key]: { ...Object.fromEntries(shown), status: ok ? "up" : "down" } };
}

import type { TestSchema } from "./schema.ts";

/** A URL whose connections have other defaults, as a role or a database can have them. */
export function withDefaults(shop: TestSchema, defaults: Readonly<Record<string, string>>): string {
  const url = new URL(String((shop.pool(1).options as { connectionString?: string }).connectionString));
  const options = Object.entries(defaults).map(
    ([name, value]) => `-c ${name}=${value.replaceAll(" ", "\\ ")}`,
  );
  url.searchParams.set("options", options.join(" "));
  return url.href;
}

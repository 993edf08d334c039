import type { Credentials } from "../account/clients.ts";
import type { Service } from "../base/service.ts";

/**
 * The variables that programs read, as lines for a shell: `eval "$(curl -s <control side>/environment)"` sets them, and prints no secret.
 * ESIM_WEBHOOK_SECRET has the secrets of the client's endpoints, the newest last; it is left out when there are none.
 */
export function environmentLines(
  { db }: Service,
  url: string,
  { clientId, clientSecret }: Credentials,
): string {
  const secrets = db
    .all<{ signingSecret: string }>(
      "select signingSecret from endpoints where clientReference = ? order by createdAt, sequence",
      clientId,
    )
    .map(({ signingSecret }) => signingSecret);
  const variables = {
    ESIM_API_URL: url,
    ESIM_CLIENT_ID: clientId,
    ESIM_CLIENT_SECRET: clientSecret,
    ...(secrets.length > 0 && { ESIM_WEBHOOK_SECRET: secrets.join(" ") }),
  };
  return Object.entries(variables)
    .map(([name, value]) => `export ${name}='${value}'\n`) // no value has a quote
    .join("");
}

import type { ApiClient } from "@esim-webhooks/client";
import type { ApiEnvironment } from "@esim-webhooks/core";
import { namedEnvironment } from "@esim-webhooks/core/internal";

/** The environment that a client calls. A client of one's own may not say it: then `ESIM_ENVIRONMENT` does. */
export function environmentOf(api: object): ApiEnvironment {
  return (api as Partial<ApiClient>).environment ?? namedEnvironment() ?? "production";
}

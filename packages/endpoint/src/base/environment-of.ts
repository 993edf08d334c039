import type { ApiClient } from "@esim-webhooks/client";
import type { ApiEnvironment } from "@esim-webhooks/core";
import { namedEnvironment } from "@esim-webhooks/core/internal";

/** The environment that a client calls. If a hand-written client does not name it, the variable `ESIM_ENVIRONMENT` does; default: production. */
export function environmentOf(api: object): ApiEnvironment {
  return (api as Partial<ApiClient>).environment ?? namedEnvironment() ?? "production";
}

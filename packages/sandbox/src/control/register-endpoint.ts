import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import { createEndpoint, type EndpointWithSecret, type NewEndpoint } from "../webhook/endpoints.ts";
import { activeAtUrl } from "../webhook/same-url.ts";

/**
 * Creates an endpoint, unless its events arrive at its URL already. The API takes a URL twice: nothing says that the service
 * refuses it, and a rotation may want it. Here it is a slip. Throws `Refused`: `url_taken`, `invalid`, `endpoint_cap`.
 */
export function registerEndpoint(
  service: Service,
  clientReference: string,
  endpoint: NewEndpoint,
): EndpointWithSecret {
  return service.db.transaction(() => {
    const [taken] = activeAtUrl(service, clientReference, endpoint);
    if (taken === undefined) return createEndpoint(service, clientReference, endpoint);
    throw new Refused(
      "url_taken",
      `The endpoint ${taken} gets events of these types at this URL already, and each would arrive twice. Use that endpoint, ` +
        "delete it, or set it inactive. The API, with POST /management/webhooks, takes a URL twice.",
    );
  });
}

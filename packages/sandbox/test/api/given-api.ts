import { addClient } from "../../src/account/clients.ts";
import { issueToken } from "../../src/account/tokens.ts";
import { createApi } from "../../src/api/api.ts";
import { createRateLimits } from "../../src/api/call/rate-limit.ts";
import { createFaults, type Faults } from "../../src/base/faults.ts";
import type { SwitchSettings } from "../../src/base/switches.ts";
import { type TestService, testService } from "../service.ts";

export interface GivenApi {
  readonly service: TestService;
  readonly faults: Faults;
  readonly api: ReturnType<typeof createApi>;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly token: string;
  /** Calls the API as the client: `call("POST /management/webhooks", { url, eventTypes })`. */
  call(call: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** As another client. */
  callAsOther(call: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
}

/** The API over a service in memory, without a limit of calls unless a switch says so. */
export function givenApi(switches: SwitchSettings = {}): GivenApi {
  const service = testService({ rateLimit: "off", ...switches });
  const faults = createFaults(service.random);
  const api = createApi(
    service,
    faults,
    { watchNewDeliveries: () => async () => {} },
    createRateLimits(service),
  );
  const credentials = addClient(service);
  const other = addClient(service);
  const tokenOf = ({ clientId, clientSecret }: typeof credentials) =>
    issueToken(service, clientId, clientSecret).accessToken;
  const callAs =
    (caller: typeof credentials): GivenApi["call"] =>
    async (call, body, headers = {}) => {
      const [method = "", path = ""] = call.split(" ");
      return api.request(`/api/v3${path}`, {
        method,
        headers: {
          authorization: `Bearer ${tokenOf(caller)}`,
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
    };
  return {
    service,
    faults,
    api,
    ...credentials,
    token: tokenOf(credentials),
    call: callAs(credentials),
    callAsOther: callAs(other),
  };
}

export const endpoint = { url: "http://127.0.0.1:3000/webhooks", eventTypes: ["esim.assigned"] };

import type { RefusalCode } from "../../base/refused.ts";
import type { Switches } from "../../base/switches.ts";

/** A call that is refused before, or instead of, its operation. `message` says what is wrong, and how to mend it. */
export class HttpRefusal extends Error {
  override readonly name = "HttpRefusal";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** The status of an operation that was refused. */
export function refusalStatus(code: RefusalCode, switches: Switches): number {
  const statuses: Readonly<Record<RefusalCode, number>> = {
    invalid: 400,
    bad_credentials: 401,
    not_yours: 403,
    not_found: 404,
    endpoint_cap: 409,
    url_taken: 409,
    external_profile_taken: 409,
    max_profiles: Number(switches.maxProfilesStatus),
    no_stock: 409,
    port_in_not_possible: 409,
    illegal_transition: Number(switches.illegalTransition),
    closed: 503,
  };
  return statuses[code];
}

/**
 * What can be wrong with an endpoint; the codes are stable.
 *
 * - `not_subscribed`: a wanted event type is not subscribed, so its events never come
 * - `not_offered`: a wanted event type is none of the service's, so its events never come
 * - `no_handler`: a subscribed event type has no handler, so its events are acknowledged for nothing
 * - `not_in_catalog`: the same, and the receiver's catalog does not have the event type
 * - `not_wanted`: a subscribed event type is not in the list of wanted ones
 * - `retired`: a subscribed event type is no longer one of the service's
 * - `inactive`: the service sends nothing to the endpoint
 * - `same_url`: another endpoint has the same URL
 * - `other_endpoints`: the endpoint was registered by this call, and the client has endpoints of other URLs: its own may be mistyped
 * - `no_secret`: no secret of the key store is known to be the endpoint's: a key that names no endpoint counts only if the client has no other endpoint
 * - `change_under_way`: a rotation or a replacement was begun and has not ended
 */
export type EndpointFindingCode =
  | "not_subscribed"
  | "not_offered"
  | "no_handler"
  | "not_in_catalog"
  | "not_wanted"
  | "retired"
  | "inactive"
  | "same_url"
  | "other_endpoints"
  | "no_secret"
  | "change_under_way";

/** Something that is wrong with an endpoint. Plain JSON. */
export interface EndpointFinding {
  readonly code: EndpointFindingCode;
  /** The event types, or the references of endpoints, that it is about. An endpoint that was just registered comes first. */
  readonly about: readonly string[];
  /** What is wrong, as a sentence. */
  readonly problem: string;
  /** How to mend it, as a sentence. */
  readonly remedy: string;
}

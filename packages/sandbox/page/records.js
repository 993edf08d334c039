// What the lists of the control side hold, newest first, as far as the page shows it.

/**
 * @typedef {object} Esim
 * @property {string} esimReference
 * @property {string} iccid
 * @property {string} profileState
 * @property {string} lifecycleStatus
 * @property {string | null} network
 * @property {string | null} country
 * @property {number} balance in minor units
 * @property {string} currency
 * @property {readonly { readonly planReference: string, readonly status: string }[]} packages
 * @property {{ readonly status: string, readonly msisdn: string } | null} portIn
 */

/**
 * @typedef {object} Endpoint
 * @property {string} webhookEndpointReference
 * @property {string} url
 * @property {readonly string[]} eventTypes
 * @property {boolean} active
 * @property {string} signingSecret
 * @property {readonly string[]} sameUrl the other endpoints that get its events at the same URL
 */

/**
 * A delivery as the API lists it, and where it goes.
 * @typedef {object} Delivery
 * @property {number} sequence which one it is: a replay is another delivery of the same id
 * @property {string} webhookEndpointReference
 * @property {string} eventId
 * @property {string} eventType
 * @property {unknown} payload
 * @property {string} status
 * @property {number} attemptNumber
 * @property {number | null} httpStatus
 * @property {string | null} responseBody
 * @property {string | null} nextRetryAt
 * @property {readonly Attempt[] | null} attempts those that have ended, oldest first; null: no longer in memory
 */

/**
 * @typedef {object} Attempt
 * @property {string} sentAt
 * @property {number} durationMs
 * @property {number | null} httpStatus
 * @property {string | null} error why there was no answer
 */

/**
 * @typedef {object} State
 * @property {string} now
 * @property {number | null} speed null: the clock stands still until it is advanced
 * @property {readonly { readonly kind: string, readonly call?: string, readonly eventType?: string, readonly times?: number }[]} faults
 */

export {};

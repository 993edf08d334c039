/** An attempt to send a delivery to its endpoint, as the tables had it when it began. */
export interface Attempt {
  /** The number of the delivery. */
  readonly sequence: number;
  readonly endpointSequence: number;
  /** 1 for the first one. */
  readonly number: number;
  readonly eventId: string;
  readonly eventType: string;
  readonly body: string;
  /** When the attempt was due: ms on the service's clock. */
  readonly dueAt: number;
  /** 1: the delivery has waited to be overtaken; else 0. */
  readonly held: 0 | 1;
  /** When the delivery was created: ms on the service's clock. */
  readonly createdAt: number;
  readonly url: string;
  readonly signingSecret: string;
  readonly previousSecret: string | null;
}

/** An endpoint's answer: the status is final as soon as it has arrived, even if the body never does. */
export interface Answered {
  readonly httpStatus: number;
  /** The first bytes of the body, as text. */
  readonly responseBody: string;
  /** Where a redirect points to. */
  readonly location: string | undefined;
  readonly error: null;
}

/** No answer came. */
export interface Unanswered {
  readonly httpStatus: null;
  readonly responseBody: null;
  readonly location: undefined;
  /** Why: `connect ECONNREFUSED 127.0.0.1:3000`. */
  readonly error: string;
}

/** The result of a request. */
export type Answer = Answered | Unanswered;

/** What an endpoint answered: the status counts as soon as it is there, whatever becomes of the body. */
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

/** What became of a request. */
export type Answer = Answered | Unanswered;

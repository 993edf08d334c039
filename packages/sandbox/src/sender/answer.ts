/** What an endpoint answered: the status counts as soon as it is there, whatever becomes of the body. */
export interface Answered {
  readonly httpStatus: number;
  /** The first bytes of the body, as text. */
  readonly responseBody: string;
  /** Where a redirect points to. */
  readonly location: string | undefined;
}

/** What became of a request. */
export type Answer = Answered | "no_answer";

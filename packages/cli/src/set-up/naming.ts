import { explained } from "../program/explained.ts";

/** Runs `make`. If it finds a mistake, the error names where that was written: a file or a variable. */
export function naming<Result>(where: string | undefined, make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    throw explained(error, { writtenIn: where });
  }
}

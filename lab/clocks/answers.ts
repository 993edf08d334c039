let answers = 0;

/** Prints the next answer of a program that `startCommanded` has started. */
export function sayAnswer(answer: string | number): void {
  console.log(`${answers++}: ${answer}`);
}

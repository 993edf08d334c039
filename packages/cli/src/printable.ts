/** Text that came over the network, or out of a file: it must not steer the terminal. */
export function printable(value: unknown): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is to be replaced
  return String(value).replace(/[\u0000-\u001f\u007f-\u009f]/g, "�");
}

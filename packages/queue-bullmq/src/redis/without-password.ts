/** Removes the arguments of AUTH and HELLO, which ioredis adds to the error: whoever logs the error would log the password. */
export function withoutPassword<Reason>(error: Reason): Reason {
  const { command } = error as { command?: { name?: string; args?: unknown } };
  if (command?.name === "auth" || command?.name === "hello") delete command.args;
  return error;
}

interface RedisError {
  readonly command?: { args?: unknown };
  /** Of a Cluster: the last error of one of its nodes. */
  readonly lastNodeError?: RedisError;
}

/**
 * Removes the arguments of the command that ioredis adds to its errors. Whoever logs the error would log them: the password of
 * AUTH and HELLO, and the body of the event.
 */
export function withoutArguments<Reason>(error: Reason): Reason {
  const { command, lastNodeError } = error as RedisError;
  if (command !== undefined) delete command.args;
  if (lastNodeError !== undefined) withoutArguments(lastNodeError);
  return error;
}

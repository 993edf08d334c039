import type { ChildProcess, Serializable } from "node:child_process";

/** Sends the order, if there is one, and resolves to the next message of the process. Rejects if the process ends before. */
export function nextMessage<Message>(child: ChildProcess, order?: Serializable): Promise<Message> {
  const { promise, resolve, reject } = Promise.withResolvers<Message>();
  const onMessage = (message: unknown) => resolve(message as Message);
  const onExit = () => reject(new Error(`${child.spawnargs.at(-1)} has ended before it answered.`));
  child.once("message", onMessage).once("exit", onExit);
  if (order !== undefined) child.send(order, (error) => error && reject(error));
  return promise.finally(() => child.off("message", onMessage).off("exit", onExit));
}

const named: Readonly<Record<string, number>> = { "/dev/stdout": 1, "/dev/stderr": 2 };

/**
 * The descriptor of this process that the path names, as `/dev/stdout` and `/dev/fd/3` do. Goes by the name alone: a link from
 * elsewhere may be of another user, and lead to a database that this process has open.
 */
export function descriptorOf(path: string): number | undefined {
  const [, digits] = /^\/(?:dev|proc\/self)\/fd\/(\d+)$/.exec(path) ?? [];
  return digits === undefined ? named[path] : Number(digits);
}

/**
 * The path of a request's target, with its query. A target may be in absolute form, `http://host/path`, which RFC 9112 (3.2.2) obliges
 * servers to accept: then the path is what follows the authority.
 */
export function targetPath(target: string): string {
  if (target.startsWith("/")) return target;
  const path = target.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, "");
  return path === target || path.startsWith("/") ? path : `/${path}`;
}

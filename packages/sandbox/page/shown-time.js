/**
 * `2026-07-01 12:00:00`, in UTC.
 * @param {number | string} time in ms since the Unix epoch, or as text
 * @returns {string}
 */
export function shownTime(time) {
  return new Date(time).toISOString().replace("T", " ").slice(0, 19);
}

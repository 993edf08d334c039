/**
 * Settings that keep the planner on an ordered index. The statistics of a queue are always out of date, and with them the planner would
 * scan the table or sort the whole backlog. They raise the cost of a plan that sorts, so jit, which would compile it at each call, is off.
 */
export const inOrder = ["enable_bitmapscan", "enable_seqscan", "enable_sort", "jit"] as const;

/** The statement that makes a function in PL/pgSQL for which these settings are off. */
export function plpgsql(signature: string, off: readonly string[], body: string): string {
  return `create function esim_webhooks.${signature}
language plpgsql
${off.map((setting) => `set ${setting} = off`).join("\n")}
as $body$
${body.trim()}
$body$`;
}

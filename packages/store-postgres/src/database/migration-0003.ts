/** As for the first migration. */
export const id = "cbf1a52d1e6cfe4f";

export const oldest = 1;

/**
 * Each has one column. Lists sort the few events of one millisecond, and of one eSIM, by themselves. Further columns would make the
 * indexes several times as large, since equal entries share their room.
 */
export const indexes: readonly string[] = [
  "event_received on esim_webhooks.event (received_at)",
  // only events that have ended: an event then enters the index once, and not when it is stored and taken too
  "event_subject on esim_webhooks.event (subject) where subject is not null and state in ('done', 'unhandled', 'dead')",
];

export const text: string = `\
-- What operators look for: the latest events, and those of one eSIM.
${indexes.map((index) => `create index if not exists ${index};\n`).join("")}`;

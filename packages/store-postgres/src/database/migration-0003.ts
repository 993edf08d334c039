/** As for the first migration. */
export const id = "5b415de4b8f34416";

export const oldest = 1;

/** By name, so that an operator can build them before. */
export const indexes: readonly string[] = [
  // lists, newest first
  "event_received on esim_webhooks.event (received_at, id, source)",
  // the events of one eSIM. Only those that have ended: one that waits is found by its lane, or among few
  "event_subject on esim_webhooks.event (subject, received_at) where subject is not null and state in ('done', 'unhandled', 'dead')",
];

export const text: string = `\
-- What operators look for: the latest events, and those of one eSIM.
${indexes.map((index) => `create index if not exists ${index};\n`).join("")}`;

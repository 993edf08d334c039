/** As for the first migration. */
export const id = "3126a1695ebf55a6";

export const oldest = 1;

/** Each has one column: lists sort the few events of one millisecond, and of one eSIM, by themselves, and the file grows less. */
export const indexes: readonly string[] = [
  "esim_webhooks_event_received on esim_webhooks_event (received_at)",
  "esim_webhooks_event_subject on esim_webhooks_event (subject) where subject is not null",
];

export const text: string = `\
-- What operators look for: the latest events, and those of one eSIM.
${indexes.map((index) => `create index if not exists ${index};\n`).join("")}`;

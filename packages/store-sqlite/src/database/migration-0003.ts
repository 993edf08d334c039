/** As for the first migration. */
export const id = "9a2b3132f0b81df1";

export const oldest = 1;

export const indexes: readonly string[] = [
  "esim_webhooks_event_received on esim_webhooks_event (received_at, id, source)", // the order of a list
  "esim_webhooks_event_subject on esim_webhooks_event (subject, received_at) where subject is not null",
  "esim_webhooks_event_parked on esim_webhooks_event (type) where parked_due is not null",
  "esim_webhooks_event_kept_body on esim_webhooks_event (settled_at) where state in ('dead', 'unhandled') and body is not null",
];

export const text: string = `\
-- What operators look for: the latest events, those of one eSIM, those that are paused, and bodies that are kept too long.
${indexes.map((index) => `create index if not exists ${index};\n`).join("")}`;

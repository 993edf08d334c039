/** As for the first migration. */
export const id = "6d624734f2fc5082";

export const oldest = 1;

export const indexes: readonly string[] = [
  "esim_webhooks_event_received on esim_webhooks_event (received_at, id, source)", // the order of a list
  // by the hour or so in which events were received: a put then writes the few pages of one hour, and not one for each event
  "esim_webhooks_event_subject on esim_webhooks_event (received_at >> 22, subject) where subject is not null",
  "esim_webhooks_event_parked on esim_webhooks_event (type) where parked_due is not null",
  "esim_webhooks_event_kept_body on esim_webhooks_event (settled_at) where state in ('dead', 'unhandled') and body is not null",
];

export const text: string = `\
-- What operators look for: the latest events, those of one eSIM, those that are paused, and bodies that are kept too long.
${indexes.map((index) => `create index if not exists ${index};\n`).join("")}`;

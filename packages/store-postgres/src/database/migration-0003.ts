/** As for the first migration. */
export const id = "a333e2397ee79b77";

export const oldest = 1;

export const indexes: readonly string[] = [
  // Lists read the states one by one, in the order of received_at. One index of all rows would cost an entry at each put, take and settlement.
  "event_ready on esim_webhooks.event (received_at) where state = 'ready'",
  "event_done on esim_webhooks.event (received_at) where state = 'done'",
  // the events of an eSIM: of the hash, which takes less than half of the bytes, and so that no index has the reference itself
  "event_subject on esim_webhooks.event (hashtext(subject), received_at) where subject is not null and state in ('done', 'unhandled', 'dead')",
  "event_parked on esim_webhooks.event (type) where parked_due is not null",
  "event_kept_body on esim_webhooks.event (settled_at) where state in ('dead', 'unhandled') and body is not null",
];

export const text: string = `\
-- What operators look for: the latest events, those of one eSIM, those that are paused, and bodies that are kept too long.
${indexes.map((index) => `create index if not exists ${index};\n`).join("")}`;

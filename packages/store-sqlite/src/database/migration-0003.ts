/** As for the first migration. */
export const id = "76bd937f9b5533c6";

export const oldest = 1;

export const indexes: readonly string[] = [
  // the order of a list, and the events of an eSIM: an index by eSIM would be written at another place for each event
  "esim_webhooks_event_received on esim_webhooks_event (received_at, id, subject) where received_at is not null",
  // the same order, of the rows that operators ask for most; they replace two indexes of the first migration, which have no id
  "esim_webhooks_event_listed_dead on esim_webhooks_event (received_at, id) where state = 'dead'",
  "esim_webhooks_event_listed_unhandled on esim_webhooks_event (received_at, id) where state = 'unhandled'",
  // ids that were handled inline
  "esim_webhooks_event_inline on esim_webhooks_event (id, source) where received_at is null",
  "esim_webhooks_event_parked on esim_webhooks_event (parked_by) where parked_due is not null",
  "esim_webhooks_event_kept_body on esim_webhooks_event (settled_at) where state in ('dead', 'unhandled') and body is not null",
];

export const text: string = `\
-- What operators look for: the latest events, those of one eSIM, those that are paused, and bodies that are kept too long.
${indexes.map((index) => `create index if not exists ${index};\n`).join("")}
drop index if exists esim_webhooks_event_dead;
drop index if exists esim_webhooks_event_unhandled;
`;

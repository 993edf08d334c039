/** As for the first migration. */
export const id = "d458bf3a9022936e";

export const oldest = 1;

export const indexes: readonly string[] = [
  // Lists read the states one by one, in the order of received_at, id and source. One index of all rows would cost an entry at each put, take
  // and settlement. With an index of received_at alone, a page would sort all events of a time.
  // All ready events have a received_at. The condition keeps takes away, which do not state it: where statistics know of no ready event, the
  // planner would read all of this index for each lane.
  "event_ready on esim_webhooks.event (received_at, id, source) where state = 'ready' and received_at is not null",
  // Also the events of an eSIM: a search reads the index, and of the table only what has the hash. An index that begins with the hash would cost each event as much as all other data of operators.
  "event_done on esim_webhooks.event (received_at, id, source, hashtext(subject)) where state = 'done'",
  // next to those of the first migration, which have no id
  "event_listed_dead on esim_webhooks.event (received_at, id, source) where state = 'dead'",
  "event_listed_unhandled on esim_webhooks.event (received_at, id, source) where state = 'unhandled'",
  // Rare rows. Their columns were indexed before, or are null in all other rows: an update compares each indexed column.
  "event_parked on esim_webhooks.event (parked_by) where state = 'ready' and ends_at = 'infinity'",
  "event_kept_body on esim_webhooks.event (state, received_at) where body is not null and state in ('dead', 'unhandled')",
];

export const text: string = `\
-- What operators look for: the latest events, those of one eSIM, those that are paused, and bodies that are kept too long.
${indexes.map((index) => `create index if not exists ${index};\n`).join("")}`;

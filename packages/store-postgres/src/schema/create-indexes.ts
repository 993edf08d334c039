/** The indexes of the events. A query can use a partial index only if it repeats the condition of the index word for word. */
export const createIndexes: readonly string[] = [
  "create index event_forgettable on esim_webhooks.event (kept_until) where state in ('done', 'unhandled')",

  // Rows without a lane have an index of their own, so rows in lanes do not slow them down. Held rows are in no index of due rows, so a
  // pause costs a take nothing.
  `create index event_due on esim_webhooks.event (due_at)
  where state = 'ready' and not held and lane is null`,
  `create index event_due_in_lane on esim_webhooks.event (due_at)
  where state = 'ready' and not held and lane is not null`,
  `create index event_suspect on esim_webhooks.event (due_at)
  where state = 'ready' and not held and suspect`,
  "create index event_held on esim_webhooks.event (type, lane) where held",
  // leased events in lanes are in event_lane_leased
  `create index event_leased on esim_webhooks.event (leased_until)
  where state = 'leased' and body is not null and lane is null`,

  "create index event_conflicts on esim_webhooks.event (conflicts) where conflicts > 0",

  // The events ahead in a lane. Only events that are ready: a leased one blocks its lane wherever it stands, and event_lane_leased has
  // it. So leasing an event adds it to no index of waiting events in lanes. Held events are in this index, since the events behind them wait.
  `create index event_lane on esim_webhooks.event (lane, occurred_at, source, id)
  where lane is not null and state = 'ready'`,
  `create index event_lane_dead on esim_webhooks.event (lane, occurred_at, source, id)
  where lane is not null and state = 'dead'`,
  // two workers may find a lane free at the same moment, but only one can lease an event of it
  `create unique index event_lane_leased on esim_webhooks.event (lane)
  where lane is not null and state = 'leased'`,

  // Lists read the states one by one, in the order of received_at, id and source. One index of all rows would cost an entry at each put,
  // take and settlement. With an index of received_at alone, a page would sort all events with the same time.
  // All ready events have a received_at. The condition on it keeps takes, which do not state it, from using this index: where statistics
  // know of no ready event, the planner would read all of this index for each lane.
  `create index event_ready on esim_webhooks.event (received_at, id, source)
  where state = 'ready' and received_at is not null`,
  // Also for the events of an eSIM: a search reads the index, and only those rows of the table that have the hash. An index that begins
  // with the hash would cost each event as much as all other data of operators.
  "create index event_done on esim_webhooks.event (received_at, id, source, hashtext(subject)) where state = 'done'",
  "create index event_dead on esim_webhooks.event (received_at, id, source) where state = 'dead'",
  "create index event_unhandled on esim_webhooks.event (received_at, id, source) where state = 'unhandled'",

  // An index of rare rows. It uses only columns of other indexes, since an update compares each indexed column.
  `create index event_kept_body on esim_webhooks.event (state, received_at)
  where body is not null and state in ('dead', 'unhandled')`,
];

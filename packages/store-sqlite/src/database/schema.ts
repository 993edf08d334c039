/** The statements that make our tables and their indexes. Times are in ms since the Unix epoch. */
export const statements: readonly string[] = [
  `-- The migrations that were run. The id is that of the migration's text, so a file of another text is recognised.
create table esim_webhooks_migration (
  number integer primary key,
  id text not null,
  -- how many migrations a version must know to work with the file once this one was run
  oldest integer not null,
  -- of the package that ran it
  version text not null,
  applied_at integer not null
) strict`,

  `create table esim_webhooks_event (
  source text not null,
  id text not null,
  state text not null check (state in ('ready', 'leased', 'done', 'unhandled', 'dead')),
  -- random, and so never used twice: a counter could go back at a power cut, and make a late owner the present one
  fence text,
  -- ready: when it is due; leased: since when it was due
  due_at integer,
  -- ready, and its type is paused: no take reads it
  held integer not null default 0,
  -- leased: when the lease ends
  leased_until integer,
  -- done, unhandled: when it may be forgotten
  kept_until integer,
  -- how long the lease or the wait was to be: one that ends further ahead than that shows that the clock was set back
  term_ms integer not null default 0,
  -- CRC-32 of the body, to tell another body of the same id; null where nobody knows the bytes that were signed
  fingerprint integer,
  type text,
  received_at integer,
  -- with microseconds after the point
  occurred_at real,
  lane text,
  -- how often a handler of it was started
  attempts integer not null default 0,
  -- those of them that count towards maxAttempts: since it was stored, redriven or run again, and not put off
  tries integer not null default 0,
  -- whether its last lease ended without a settlement
  suspect integer not null default 0,
  conflicts integer not null default 0,
  error text,
  -- since when a handler has put it off with retryLater; null if it has not since it was stored, redriven or run again
  waiting_since integer,
  -- what an import says of it, as JSON; null for a delivery
  replay text,
  -- JSON: the imports that had made the event ready before the one in replay
  runs text,
  -- the eSIM that it is about, the key that verified it, its trace
  subject text,
  key text,
  trace text,
  -- when it was first taken, and when it became done, unhandled or dead
  taken_at integer,
  settled_at integer,
  erased_at integer,
  -- JSON: the last ten failed attempts
  history text,
  -- null for an id that is worked inline, and once an event is done; last, so that nobody reads past it for another column
  body blob,
  -- the id first: it tells rows apart at its first bytes, where the source is mostly the same
  primary key (id, source)
) strict`,

  // SQLite uses a partial index only for a query that repeats the condition of the index word for word.
  "create index esim_webhooks_event_due on esim_webhooks_event (due_at, term_ms) where state = 'ready' and held = 0 and lane is null",
  `create index esim_webhooks_event_due_in_lane on esim_webhooks_event (due_at, term_ms)
  where state = 'ready' and held = 0 and lane is not null`,
  "create index esim_webhooks_event_held on esim_webhooks_event (type, lane) where held = 1",
  "create index esim_webhooks_event_suspect on esim_webhooks_event (due_at) where state = 'ready' and suspect = 1",
  "create index esim_webhooks_event_leased on esim_webhooks_event (leased_until, term_ms) where state = 'leased' and body is not null",
  "create index esim_webhooks_event_forgettable on esim_webhooks_event (kept_until) where state in ('done', 'unhandled')",
  "create index esim_webhooks_event_conflicts on esim_webhooks_event (conflicts) where conflicts > 0",
  // the events of a lane that are ready or leased, those that are leased, and those that are dead
  `create index esim_webhooks_event_lane on esim_webhooks_event (lane, occurred_at, source, id)
  where lane is not null and state in ('ready', 'leased')`,
  "create index esim_webhooks_event_lane_leased on esim_webhooks_event (lane) where lane is not null and state = 'leased'",
  `create index esim_webhooks_event_lane_dead on esim_webhooks_event (lane, occurred_at, source, id)
  where lane is not null and state = 'dead'`,
  // for the order of a list, and for the events of an eSIM: an index by eSIM would be written at another place for each event
  "create index esim_webhooks_event_received on esim_webhooks_event (received_at, id, subject) where received_at is not null",
  // the same order, for the rows that operators ask for most
  "create index esim_webhooks_event_dead on esim_webhooks_event (received_at, id) where state = 'dead'",
  "create index esim_webhooks_event_unhandled on esim_webhooks_event (received_at, id) where state = 'unhandled'",
  `create index esim_webhooks_event_kept_body on esim_webhooks_event (settled_at)
  where state in ('dead', 'unhandled') and body is not null`,

  `-- how far latestOnly has come for each subject
create table esim_webhooks_latest (
  family text not null,
  subject text not null,
  occurred_at real not null,
  primary key (family, subject)
) strict, without rowid`,

  `-- one row: what the last purge saw of the machine's clock, and before when nothing is deleted
create table esim_webhooks_purge_clock (
  one integer primary key check (one = 1),
  seen_at integer not null,
  held_until integer not null
) strict`,

  `-- small durable states, such as the steps of a rotation, as JSON: written only by who knows the version that is there
create table esim_webhooks_state (
  name text primary key,
  value text not null,
  -- random, for the reason of fence
  version text not null
) strict, without rowid`,

  `-- one row for each worker that has reported in the last 30 seconds
create table esim_webhooks_worker (
  id text primary key,
  host text not null,
  pid integer not null,
  version text not null,
  concurrency integer not null,
  running integer not null,
  started_at integer not null,
  last_take_at integer,
  seen_at integer not null
) strict, without rowid`,

  `-- what operators have paused: ready events of these types are held
create table esim_webhooks_pause (
  -- '*': all types
  type text primary key,
  reason text not null,
  since integer not null,
  -- null: until it is resumed. A row of all types stays: it says when that was
  until integer,
  by text
) strict, without rowid`,

  `-- what happened in each minute of the last day, if that is counted
create table esim_webhooks_minute (
  at integer primary key,
  stored integer not null,
  done integer not null,
  retried integer not null,
  dead integer not null
) strict`,

  `-- the last fifty imports, and the last fifty passes of reconcile, as JSON
create table esim_webhooks_run (
  number integer primary key,
  kind text not null,
  note text not null
) strict`,

  `-- one row: when the last delivery was received
create table esim_webhooks_last_delivery (
  one integer primary key check (one = 1),
  received_at integer not null
) strict`,
];

/** The tables of the dedupe store, the inbox, its operators and small state. */
export const createTables: readonly string[] = [
  "create schema if not exists esim_webhooks",

  `-- The migrations that were run. The id is that of the migration's text, so a schema of another text is recognised.
create table esim_webhooks.migration (
  number integer primary key,
  id text not null,
  -- how many migrations a version must know to work with the schema once this one was run
  oldest integer not null,
  -- of the package that ran it
  version text not null,
  applied_at timestamptz not null default now(),
  -- until when a process has claimed the next one
  claimed_until timestamptz
)`,

  `-- fences are never reused, so that a late owner cannot pass for the current one
create sequence esim_webhooks.fence as bigint`,

  `-- Store and inbox share it, so an id that was done inline is done for the inbox.
create table esim_webhooks.event (
  source text collate "C" not null,
  id text collate "C" not null,
  -- the dedupe store has leased and done; the others are the inbox's
  state text not null check (state in ('ready', 'leased', 'done', 'unhandled', 'dead')),
  fence bigint not null default nextval('esim_webhooks.fence'),
  -- ready: when it is due; also while it is leased: since when it was due
  due_at timestamptz,
  -- leased: when the lease ends
  leased_until timestamptz,
  -- done or unhandled: when the retention ends
  kept_until timestamptz,
  -- ready, and its type is paused, or was until a moment ago: takes do not find it, and the events behind it in its lane wait
  held boolean not null default false,
  -- the CRC-32 of the body, also of a removed one; null if the signed bytes are unknown. bigint, since the number is unsigned
  fingerprint bigint,
  type text,
  -- null while an id is worked inline, and once an event is done. A ready event always has one: an id that is worked inline never becomes one
  body bytea,
  received_at timestamptz,
  occurred_at timestamptz,
  lane text collate "C",
  -- how often a handler of it was started
  attempts integer not null default 0,
  -- those of them that count towards maxAttempts: since it was stored, redriven or run again, and not put off
  tries integer not null default 0,
  -- whether its last lease ended without a settlement
  suspect boolean not null default false,
  conflicts integer not null default 0,
  error text,
  -- since when a handler has put it off with retryLater; null if it has not since it was stored, redriven or run again
  waiting_since timestamptz,
  -- null for an event that came as a delivery
  replay jsonb,
  -- the imports that made the event ready before the one in replay
  runs text[],
  -- the eSIM that it is about, the key that verified it, its trace
  subject text collate "C",
  key text,
  trace text,
  -- when it was first taken, and when it became done, unhandled or dead
  taken_at timestamptz,
  settled_at timestamptz,
  erased_at timestamptz,
  -- an array: the last ten failed attempts
  history jsonb,
  -- The id comes first: its first bytes differ from row to row, while the source is mostly the same. The upper pages of the
  -- index then hold more keys, and an insert into a large table costs less.
  primary key (id, source)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000)`,

  `-- the newest event that latestOnly has worked for each subject
create table esim_webhooks.latest (
  family text collate "C" not null,
  subject text collate "C" not null,
  occurred_at timestamptz not null,
  primary key (family, subject)
) with (fillfactor = 80)`,

  `-- One row: what the last purge saw of the server's clock, and before when nothing is deleted, in ms since the Unix epoch by that clock.
create table esim_webhooks.purge_clock (
  one boolean primary key default true check (one),
  seen_ms double precision not null,
  held_until_ms double precision not null
)`,

  `-- Small state: one row per name. The value is JSON as text: jsonb refuses NUL and rewrites numbers.
create table esim_webhooks.state (
  name text collate "C" primary key,
  -- from the sequence of the fences, so that no version is reused after a row is deleted and written again
  version bigint not null default nextval('esim_webhooks.fence'),
  value text not null
) with (fillfactor = 50)`,

  `-- one row for each worker that has reported in the last 30 seconds
create table esim_webhooks.worker (
  id text primary key,
  host text not null,
  pid integer not null,
  version text not null,
  concurrency integer not null,
  running integer not null,
  started_at timestamptz not null,
  last_take_at timestamptz,
  seen_at timestamptz not null
) with (fillfactor = 50)`,

  `-- what operators have paused
create table esim_webhooks.pause (
  -- '*': all types
  type text collate "C" primary key,
  reason text not null,
  since timestamptz not null,
  -- null: until it is resumed. A row of all types stays: it says when that was
  until timestamptz,
  by text
)`,

  `-- what happened in each minute of the last day, if that is counted
create table esim_webhooks.minute (
  at timestamptz primary key,
  stored bigint not null,
  done bigint not null,
  retried bigint not null,
  dead bigint not null
) with (fillfactor = 50)`,

  `-- the last fifty imports, and the last fifty passes of reconcile, as JSON
create table esim_webhooks.run (
  number bigint generated always as identity primary key,
  kind text not null,
  note text not null
)`,

  `-- one row: when the last delivery was received
create table esim_webhooks.last_delivery (
  one boolean primary key default true check (one),
  received_at timestamptz not null
) with (fillfactor = 50)`,
];

/** As for the first migration. */
export const id = "491d3b1ebe047bb3";

export const oldest = 1;

export const text: string = `\
-- What operators see of an event: which eSIM it is about, the key that verified it, its trace, its times, its failed attempts. Who works.

-- how many migrations a version must know to work with the file once this one was run; null: all
alter table esim_webhooks_migration add column oldest integer;
-- of the package that ran it
alter table esim_webhooks_migration add column version text;

alter table esim_webhooks_event add column subject text;
alter table esim_webhooks_event add column key text;
alter table esim_webhooks_event add column trace text;
-- when it was first taken, and when it became done, unhandled or dead
alter table esim_webhooks_event add column taken_at integer;
alter table esim_webhooks_event add column settled_at integer;
alter table esim_webhooks_event add column erased_at integer;
-- JSON: the last ten failed attempts
alter table esim_webhooks_event add column history text;
-- when it was due, while it is parked: due, of a paused type or behind such an event in its lane, and with an ends_at that never comes, so
-- that no take reads past it
alter table esim_webhooks_event add column parked_due integer;
-- what has parked it: its own type, or the type of the first event of its lane and the generation of that pause
alter table esim_webhooks_event add column parked_by text;

-- one row for each worker that has reported in the last 30 seconds
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
) strict, without rowid;

-- What operators have paused. A pause that has ended stays until the events that are parked by it are due again. Those that wait behind
-- others carry its generation: with the next one, all of them are due again
create table esim_webhooks_pause (
  -- '*': all types
  type text primary key,
  reason text not null,
  since integer not null,
  -- null: until it is resumed
  until integer,
  by text,
  generation integer not null default 0
) strict, without rowid;

-- what happened in each minute of the last day, if that is counted
create table esim_webhooks_minute (
  at integer primary key,
  stored integer not null,
  done integer not null,
  retried integer not null,
  dead integer not null
) strict;

-- the last fifty imports, and the last fifty passes of reconcile, as JSON
create table esim_webhooks_run (
  number integer primary key,
  kind text not null,
  note text not null
) strict;

-- one row: when the last delivery was received
create table esim_webhooks_last_delivery (
  one integer primary key check (one = 1),
  received_at integer not null
) strict;
`;

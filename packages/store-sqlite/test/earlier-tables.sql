-- The tables as an earlier version made them, whose migrations had no ids.
create table esim_webhooks_migration (
  number integer primary key,
  applied_at integer not null
) strict;

create table esim_webhooks_event (
  source text not null,
  id text not null,
  state text not null check (state in ('ready', 'leased', 'done', 'unhandled', 'dead')),
  fence text,
  ends_at integer,
  lease_ms integer,
  fingerprint integer,
  type text,
  received_at integer,
  occurred_at real,
  lane text,
  attempts integer not null default 0,
  conflicts integer not null default 0,
  error text,
  replay text,
  runs text,
  body blob,
  primary key (id, source)
) strict;

create index esim_webhooks_event_due on esim_webhooks_event (ends_at)
  where state = 'ready' and lane is null;

create table esim_webhooks_latest (
  family text not null,
  subject text not null,
  occurred_at real not null,
  primary key (family, subject)
) strict, without rowid;

create table esim_webhooks_state (
  name text primary key,
  value text not null,
  version text not null
) strict, without rowid;

insert into esim_webhooks_migration (number, applied_at) values (1, 0);

-- The tables of the dedupe store and of small state. For another schema, replace every esim_webhooks with its name.
create schema if not exists esim_webhooks;

create table esim_webhooks.migration (
  number integer primary key,
  applied_at timestamptz not null default now()
);

-- fences are never reused, so that a late owner cannot pass for the current one
create sequence esim_webhooks.fence as bigint;

create table esim_webhooks.event (
  source text collate "C" not null,
  id text collate "C" not null,
  -- the dedupe store has leased and done; the others are the inbox's
  state text not null check (state in ('ready', 'leased', 'done', 'unhandled', 'dead')),
  fence bigint not null default nextval('esim_webhooks.fence'),
  -- leased: when the lease ends; done: when the retention ends
  ends_at timestamptz not null,
  -- the CRC-32 of the body, also of a removed one; null if the signed bytes are unknown. bigint, since the number is unsigned
  fingerprint bigint,
  primary key (source, id)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

create index event_forgettable on esim_webhooks.event (ends_at) where state in ('done', 'unhandled');

-- Small state: one row per name. The value is JSON as text: jsonb refuses NUL and rewrites numbers.
create table esim_webhooks.state (
  name text collate "C" primary key,
  -- from the sequence of the fences, so that no version is reused after a row is deleted and written again
  version bigint not null default nextval('esim_webhooks.fence'),
  value text not null
) with (fillfactor = 50);

insert into esim_webhooks.migration (number) values (1);

-- The tables and settle as an earlier version made them, whose migrations had no ids.
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
alter table esim_webhooks.event
  add column type text,
  -- null while an id is worked inline, and once an event is done
  add column body bytea,
  add column received_at timestamptz,
  add column occurred_at timestamptz,
  add column lane text collate "C",
  add column attempts integer not null default 0,
  -- whether its last lease ended without a settlement
  add column suspect boolean not null default false,
  add column conflicts integer not null default 0,
  add column error text;

create function esim_webhooks.settle(
  sources text[], ids text[], fences bigint[], states text[], waits double precision[], errors text[],
  moment timestamptz, retention interval, keep_bodies boolean
) returns setof bigint
language plpgsql
set enable_bitmapscan = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $settle$
begin
  return query
    with held as (
      update esim_webhooks.event as settled
      set state = case given.state when 'untouched' then 'ready' else given.state end,
        ends_at = case given.state
          when 'done' then moment + retention
          when 'unhandled' then moment + retention
          when 'dead' then 'infinity'
          else moment + given.wait * interval '1 millisecond' end,
        attempts = settled.attempts - (given.state = 'untouched')::integer,
        suspect = settled.suspect and given.state = 'untouched',
        error = given.error,
        body = case when given.state = 'done' and not keep_bodies then null else settled.body end
      from unnest(sources, ids, fences, states, waits, errors) as given (source, id, fence, state, wait, error)
      where settled.source = given.source and settled.id = given.id
        and settled.fence = given.fence and settled.state = 'leased'
      returning settled.fence
    )
    select * from unnest(fences) except select held.fence from held;
end
$settle$;

create table esim_webhooks.latest (
  family text collate "C" not null,
  subject text collate "C" not null,
  occurred_at timestamptz not null,
  primary key (family, subject)
) with (fillfactor = 80);

insert into esim_webhooks.migration (number) values (2);

alter table esim_webhooks.event
  -- null for an event that came as a delivery
  add column replay jsonb,
  -- the imports that made the event ready before the one in replay
  add column runs text[];

insert into esim_webhooks.migration (number) values (3);

alter table esim_webhooks.event
  drop constraint event_pkey,
  add primary key (id, source);

insert into esim_webhooks.migration (number) values (4), (5);

/**
 * The SHA-256 of `text`, cut to 16 digits: a schema records it, and is refused by a version whose migration has another one. Once
 * released, neither changes again.
 */
export const id = "f4f044c09fa95e4f";

/** The first version that knows a migration may work with the schema once it was run. */
export const oldest = 1;

/** For another schema, every `esim_webhooks` is replaced with its name. */
export const text: string = `\
-- The tables and functions of the dedupe store, the inbox and small state.
create schema if not exists esim_webhooks;

-- The migrations that were run. The id is that of the migration's text, so a schema of another text is recognised.
create table esim_webhooks.migration (
  number integer primary key,
  id text not null,
  applied_at timestamptz not null default now()
);

-- fences are never reused, so that a late owner cannot pass for the current one
create sequence esim_webhooks.fence as bigint;

-- Store and inbox share it, so an id that was done inline is done for the inbox.
create table esim_webhooks.event (
  source text collate "C" not null,
  id text collate "C" not null,
  -- the dedupe store has leased and done; the others are the inbox's
  state text not null check (state in ('ready', 'leased', 'done', 'unhandled', 'dead')),
  fence bigint not null default nextval('esim_webhooks.fence'),
  -- ready: when it is due; leased: when the lease ends; done or unhandled: when the retention ends; dead: infinity
  ends_at timestamptz not null,
  -- the CRC-32 of the body, also of a removed one; null if the signed bytes are unknown. bigint, since the number is unsigned
  fingerprint bigint,
  type text,
  -- null while an id is worked inline, and once an event is done
  body bytea,
  received_at timestamptz,
  occurred_at timestamptz,
  lane text collate "C",
  attempts integer not null default 0,
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
  -- The id comes first: its first bytes differ from row to row, while the source is mostly the same. The upper pages of the
  -- index then hold more keys, and an insert into a large table costs less.
  primary key (id, source)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

comment on column esim_webhooks.event.ends_at is 'when the row is due, or its lease or retention ends';

create index event_forgettable on esim_webhooks.event (ends_at) where state in ('done', 'unhandled');

-- rows without a lane have an index of their own, so rows in lanes do not slow them down
create index event_pending on esim_webhooks.event (state, ends_at)
  where state in ('ready', 'leased') and body is not null and lane is null;

create index event_pending_in_lane on esim_webhooks.event (ends_at)
  where state = 'ready' and body is not null and lane is not null;

create index event_suspect on esim_webhooks.event (ends_at)
  where state = 'ready' and body is not null and suspect;

-- an event without a handler: its body is kept for the retention, and it can be redriven once there is a handler
create index event_unhandled on esim_webhooks.event (received_at) where state = 'unhandled';

create index event_dead on esim_webhooks.event (received_at) where state = 'dead';

create index event_conflicts on esim_webhooks.event (conflicts) where conflicts > 0;

-- The events ahead in a lane. Only events that are ready: a leased one blocks its lane wherever it stands, and event_lane_leased has
-- it. So leasing an event adds it to no index of waiting events in lanes.
create index event_lane on esim_webhooks.event (lane, occurred_at, source, id)
  where lane is not null and state = 'ready';

create index event_lane_dead on esim_webhooks.event (lane, occurred_at, source, id)
  where lane is not null and state = 'dead';

-- two workers may find a lane free at the same moment, but only one can lease an event of it
create unique index event_lane_leased on esim_webhooks.event (lane)
  where lane is not null and state = 'leased';

-- Ready and due → leased, the longest due first. Skips rows that other workers have locked.
-- It is a function so that its settings keep the planner on the ordered index: the statistics of a queue are always out of
-- date, and with them the planner would sort the whole backlog for each take. jit is off, since the settings raise the cost
-- of a plan that sorts, and each take would compile it.
--
-- Takes only the first event of a lane by occurred_at, and none while another one is leased. An event that waits for its next
-- attempt counts as first too. Each condition on a lane repeats that of an index word for word. Selecting and leasing are several
-- statements: the first may see a lane as free that was taken meanwhile. The lanes are locked between them, so the last one sees
-- every lease on them. Waiting at the unique index instead, while holding rows of other lanes, would cause deadlocks.
--
-- Of the due rows in lanes it reads the first thousand or more. Usually these are all, or contain enough events whose turn it is.
-- Otherwise it reads the first event of every lane, which takes time by the number of lanes, not by their length.
--
-- Rows are named by their places in the table, which saves a search of the
-- primary key for each. A place stays valid until the last statement: what the calling statement could see is not overwritten
-- before that ends. Rows without a lane are locked by then. Rows in lanes are not, since the lock on a lane keeps other takes away, but
-- they are checked again: another worker may have worked them and freed their lane since they were selected. Each step reads only as
-- much of the one before as it needs.
create function esim_webhooks.take(
  most integer, lease interval, moment timestamptz, only_types text[], except_types text[], held_by_dead boolean
) returns setof esim_webhooks.event
language plpgsql
set enable_bitmapscan = off
set enable_seqscan = off
set enable_sort = off
set jit = off
as $take$
declare
  reach constant integer := 1000 + 4 * most;
  looked_at integer;
  places tid[];
  in_lanes tid[];
begin
  with due as materialized (
    select ctid as place from esim_webhooks.event
    where state = 'ready' and body is not null and lane is null and ends_at <= moment and not suspect
      and (only_types is null or type = any (only_types))
      and (except_types is null or type is null or type <> all (except_types))
    order by state, ends_at
    limit most
    for update skip locked
  )
  select array_agg(place) into places from due;
  with near as materialized (
    select ctid as place, source, id, lane, type, occurred_at, suspect from esim_webhooks.event
    where state = 'ready' and body is not null and lane is not null and ends_at <= moment
    order by ends_at
    limit reach
  ), due as materialized (
    select place, lane from near
    where not suspect
      and (only_types is null or type = any (only_types))
      and (except_types is null or type is null or type <> all (except_types))
      and not exists (
        select from esim_webhooks.event as ahead
        where ahead.lane = near.lane and ahead.lane is not null and ahead.state = 'ready'
          and (ahead.occurred_at, ahead.source, ahead.id) < (near.occurred_at, near.source, near.id)
        offset 0
      ) and not exists (
        select from esim_webhooks.event as worked
        where worked.lane = near.lane and worked.lane is not null and worked.state = 'leased'
        offset 0
      ) and not (held_by_dead and exists (
        select from esim_webhooks.event as died
        where died.lane = near.lane and died.lane is not null and died.state = 'dead'
          and (died.occurred_at, died.source, died.id) < (near.occurred_at, near.source, near.id)
        offset 0
      ))
  ), own as materialized (
    select place from due
    where pg_try_advisory_xact_lock(hashtextextended('esim_webhooks lane ' || lane, 0))
    limit most
  )
  select array_agg(place), case when count(*) < most then (select count(*) from near) end into in_lanes, looked_at from own;
  if looked_at = reach then
    with recursive head as (
      (
        select ctid as place, source, id, lane, type, occurred_at, ends_at, suspect from esim_webhooks.event
        where lane is not null and state = 'ready'
        order by lane, occurred_at, source, id
        limit 1
      )
      union all
      select following.* from head cross join lateral (
        select ctid as place, source, id, lane, type, occurred_at, ends_at, suspect from esim_webhooks.event
        where lane > head.lane and lane is not null and state = 'ready'
        order by lane, occurred_at, source, id
        limit 1
      ) as following
    ), due as materialized (
      select place, lane from head
      where ends_at <= moment and not suspect
        and (only_types is null or type = any (only_types))
        and (except_types is null or type is null or type <> all (except_types))
        and not exists (
          select from esim_webhooks.event as worked
          where worked.lane = head.lane and worked.lane is not null and worked.state = 'leased'
          offset 0
        ) and not (held_by_dead and exists (
          select from esim_webhooks.event as died
          where died.lane = head.lane and died.lane is not null and died.state = 'dead'
            and (died.occurred_at, died.source, died.id) < (head.occurred_at, head.source, head.id)
          offset 0
        ))
      order by ends_at
    ), own as materialized (
      select place from due
      where pg_try_advisory_xact_lock(hashtextextended('esim_webhooks lane ' || lane, 0))
      limit most
    )
    select array_agg(place) into in_lanes from own;
  end if;
  places := places || in_lanes;
  if cardinality(places) > most then
    with oldest as materialized (
      select ctid as place from esim_webhooks.event where ctid = any (places) order by ends_at limit most
    )
    select array_agg(place) into places from oldest;
  end if;
  return query
    update esim_webhooks.event as taken
    set state = 'leased', fence = nextval('esim_webhooks.fence'), attempts = taken.attempts + 1, ends_at = moment + lease
    where ctid = any (places)
      and (lane is null or state = 'ready' and ends_at <= moment and not suspect and not exists (
        select from esim_webhooks.event as worked
        where worked.lane = taken.lane and worked.lane is not null and worked.state = 'leased'
        offset 0
      ))
    returning taken.*;
end
$take$;

-- Suspect and due → leased, like take. Suspects are few among many, so they have an index of their own.
create function esim_webhooks.take_suspects(
  most integer, lease interval, moment timestamptz, only_types text[], except_types text[], held_by_dead boolean
) returns setof esim_webhooks.event
language plpgsql
set enable_bitmapscan = off
set enable_seqscan = off
set enable_sort = off
set jit = off
as $take$
declare
  sources text[];
  ids text[];
begin
  with due as materialized (
    select source, id, lane from esim_webhooks.event as waiting
    where state = 'ready' and body is not null and suspect and ends_at <= moment
      and (only_types is null or type = any (only_types))
      and (except_types is null or type is null or type <> all (except_types))
      and (lane is null or not (
        exists (
          select from esim_webhooks.event as worked
          where worked.lane = waiting.lane and worked.lane is not null and worked.state = 'leased'
        ) or exists (
          select from esim_webhooks.event as ahead
          where ahead.lane = waiting.lane and ahead.lane is not null and ahead.state = 'ready'
            and (ahead.occurred_at, ahead.source, ahead.id) < (waiting.occurred_at, waiting.source, waiting.id)
        ) or held_by_dead and exists (
          select from esim_webhooks.event as died
          where died.lane = waiting.lane and died.lane is not null and died.state = 'dead'
            and (died.occurred_at, died.source, died.id) < (waiting.occurred_at, waiting.source, waiting.id)
        )
      ))
    order by ends_at
    limit most
    for update of waiting skip locked
  )
  select array_agg(source), array_agg(id) into sources, ids
  from due
  where lane is null or pg_try_advisory_xact_lock(hashtextextended('esim_webhooks lane ' || lane, 0));
  return query
    update esim_webhooks.event as taken
    set state = 'leased', fence = nextval('esim_webhooks.fence'), attempts = taken.attempts + 1, ends_at = moment + lease
    from unnest(sources, ids) as chosen (source, id)
    where taken.source = chosen.source and taken.id = chosen.id
      and (taken.lane is null or not exists (
        select from esim_webhooks.event as worked
        where worked.lane = taken.lane and worked.lane is not null and worked.state = 'leased'
      ))
    returning taken.*;
end
$take$;

-- Leased → the state of each settlement, for the leases that are still held. 'untouched' and 'waiting' are ready with the attempt refunded.
-- 'waiting' notes since when the event waits, 'ready' and 'untouched' keep that time, and the other states clear it. When all are
-- done, which is usual, states, waits and errors are null: three arrays fewer to read. Returns the fences of the others, which are few.
-- It is a function too: by the statistics almost no row is leased, and the planner would scan
-- all leased rows. It locks rows in the order of the settlements, so that two calls with the same rows cannot deadlock.
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
declare
  kept bigint[];
begin
  with held as (
    update esim_webhooks.event as settled
    set state = case when given.state in ('untouched', 'waiting') then 'ready' else given.state end,
      ends_at = case given.state
        when 'done' then moment + retention
        when 'unhandled' then moment + retention
        when 'dead' then 'infinity'
        else moment + given.wait * interval '1 millisecond' end,
      attempts = settled.attempts - (given.state in ('untouched', 'waiting'))::integer,
      suspect = settled.suspect and given.state = 'untouched',
      waiting_since = case
        when given.state = 'waiting' then coalesce(settled.waiting_since, moment)
        when given.state in ('ready', 'untouched') then settled.waiting_since end,
      error = given.error,
      body = case when given.state = 'done' and not keep_bodies then null else settled.body end
    from (
      select source, id, fence, coalesce(state, 'done') as state, wait, error
      from unnest(sources, ids, fences, states, waits, errors) as list (source, id, fence, state, wait, error)
    ) as given
    where settled.source = given.source and settled.id = given.id
      and settled.fence = given.fence and settled.state = 'leased'
    returning settled.fence
  )
  select array_agg(held.fence) into kept from held;
  if cardinality(kept) = cardinality(fences) then
    return; -- usual, and cheaper than the comparison
  end if;
  return query select * from unnest(fences) except select * from unnest(kept);
end
$settle$;

-- Leased → leased until another time. A function for the same reasons as settle, and with the same answer.
create function esim_webhooks.renew(sources text[], ids text[], fences bigint[], until timestamptz) returns setof bigint
language plpgsql
set enable_bitmapscan = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $renew$
begin
  return query
    with held as (
      update esim_webhooks.event as renewed
      set ends_at = until
      from unnest(sources, ids, fences) as given (source, id, fence)
      where renewed.source = given.source and renewed.id = given.id
        and renewed.fence = given.fence and renewed.state = 'leased'
      returning renewed.fence
    )
    select * from unnest(fences) except select held.fence from held;
end
$renew$;

-- the newest event that latestOnly has worked for each subject
create table esim_webhooks.latest (
  family text collate "C" not null,
  subject text collate "C" not null,
  occurred_at timestamptz not null,
  primary key (family, subject)
) with (fillfactor = 80);

-- One row: what the last purge saw of the server's clock, and before when nothing is deleted, in ms since the Unix epoch by that clock.
create table esim_webhooks.purge_clock (
  one boolean primary key default true check (one),
  seen_ms double precision not null,
  held_until_ms double precision not null
);

-- Small state: one row per name. The value is JSON as text: jsonb refuses NUL and rewrites numbers.
create table esim_webhooks.state (
  name text collate "C" primary key,
  -- from the sequence of the fences, so that no version is reused after a row is deleted and written again
  version bigint not null default nextval('esim_webhooks.fence'),
  value text not null
) with (fillfactor = 50);
`;

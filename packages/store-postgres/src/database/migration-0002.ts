/** As for the first migration. */
export const id = "8bb8c67f60a023cf";

export const oldest = 1;

export const text: string = `\
-- What operators see of an event: which eSIM it is about, the key that verified it, its trace, its times, its failed attempts. And
-- who works. No table is rewritten. The functions of the first migration stay for processes of the version that called them.
alter table esim_webhooks.migration
  -- how many migrations a version must know to work with the schema once this one was run; null: all
  add column oldest integer,
  -- of the package that ran it
  add column version text,
  -- until when a process has claimed the next one
  add column claimed_until timestamptz;

alter table esim_webhooks.event
  add column subject text collate "C",
  add column key text,
  add column trace text,
  -- when it was first taken, and when it became done, unhandled or dead
  add column taken_at timestamptz,
  add column settled_at timestamptz,
  -- an array: the last ten failed attempts
  add column history jsonb;

-- one row for each worker that has reported in the last 30 seconds
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
) with (fillfactor = 50);

-- one row: when the last delivery was received
create table esim_webhooks.last_delivery (
  one boolean primary key default true check (one),
  received_at timestamptz not null
) with (fillfactor = 50);

-- The history with one more attempt, which ended at that time. It keeps the last ten.
create function esim_webhooks.with_attempt(history jsonb, attempt jsonb, ended timestamptz) returns jsonb
language sql immutable
as $attempt$
  select case when jsonb_array_length(history) >= 10 then history - 0 else coalesce(history, '[]') end
    || (attempt || jsonb_build_object('at', floor(extract(epoch from ended) * 1000)))
$attempt$;

-- As take of the first migration, and it notes when an event is first taken, and returns since when each was due.
create function esim_webhooks.lease_due(
  most integer, lease interval, moment timestamptz, only_types text[], except_types text[], held_by_dead boolean
) returns table (
  source text, id text, fence bigint, type text, body bytea, received_at timestamptz, attempts integer,
  waiting_since timestamptz, replay jsonb, trace text, due_at timestamptz
)
language plpgsql
set enable_hashjoin = off
set enable_mergejoin = off
set enable_bitmapscan = off
set enable_seqscan = off
set enable_sort = off
set jit = off
as $take$
#variable_conflict use_column
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
    set state = 'leased', fence = nextval('esim_webhooks.fence'), attempts = taken.attempts + 1, ends_at = moment + lease,
      taken_at = coalesce(taken.taken_at, moment)
    from (select event.ctid as place, event.ends_at as due from esim_webhooks.event as event where event.ctid = any (places)) as chosen
    where taken.ctid = chosen.place
      and (taken.lane is null or taken.state = 'ready' and taken.ends_at <= moment and not taken.suspect and not exists (
        select from esim_webhooks.event as worked
        where worked.lane = taken.lane and worked.lane is not null and worked.state = 'leased'
        offset 0
      ))
    returning taken.source, taken.id, taken.fence, taken.type, taken.body, taken.received_at, taken.attempts,
      taken.waiting_since, taken.replay, taken.trace, chosen.due;
end
$take$;

-- As take_suspects of the first migration, with the same additions.
create function esim_webhooks.lease_suspects(
  most integer, lease interval, moment timestamptz, only_types text[], except_types text[], held_by_dead boolean
) returns table (
  source text, id text, fence bigint, type text, body bytea, received_at timestamptz, attempts integer,
  waiting_since timestamptz, replay jsonb, trace text, due_at timestamptz
)
language plpgsql
set enable_bitmapscan = off
set enable_seqscan = off
set enable_sort = off
set jit = off
as $take$
#variable_conflict use_column
declare
  sources text[];
  ids text[];
  dues timestamptz[];
begin
  with due as materialized (
    select source, id, lane, ends_at from esim_webhooks.event as waiting
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
  select array_agg(source), array_agg(id), array_agg(ends_at) into sources, ids, dues
  from due
  where lane is null or pg_try_advisory_xact_lock(hashtextextended('esim_webhooks lane ' || lane, 0));
  return query
    update esim_webhooks.event as taken
    set state = 'leased', fence = nextval('esim_webhooks.fence'), attempts = taken.attempts + 1, ends_at = moment + lease,
      taken_at = coalesce(taken.taken_at, moment)
    from unnest(sources, ids, dues) as chosen (source, id, due)
    where taken.source = chosen.source and taken.id = chosen.id
      and (taken.lane is null or not exists (
        select from esim_webhooks.event as worked
        where worked.lane = taken.lane and worked.lane is not null and worked.state = 'leased'
      ))
    returning taken.source, taken.id, taken.fence, taken.type, taken.body, taken.received_at, taken.attempts,
      taken.waiting_since, taken.replay, taken.trace, chosen.due;
end
$take$;

-- As settle of the first migration, and it notes when an event is settled, and adds the reports of failed attempts to its history.
-- When all are done, the reports are null too.
create function esim_webhooks.settle(
  sources text[], ids text[], fences bigint[], states text[], waits double precision[], errors text[],
  reports jsonb[], moment timestamptz, retention interval, keep_bodies boolean
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
      settled_at = case when given.state in ('done', 'unhandled', 'dead') then moment end,
      history = case when given.report is null then settled.history else
        esim_webhooks.with_attempt(settled.history, given.report, moment) end,
      body = case when given.state = 'done' and not keep_bodies then null else settled.body end
    from (
      select source, id, fence, coalesce(state, 'done') as state, wait, error, report
      from unnest(sources, ids, fences, states, waits, errors, reports)
        as list (source, id, fence, state, wait, error, report)
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
`;

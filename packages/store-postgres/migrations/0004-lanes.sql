-- A take that does not read all events behind a blocked lane.
--
-- It reads the first thousand or more due rows in lanes. Usually these are all, or contain enough events whose turn it is.
-- Otherwise it reads the first event of every lane, which takes time by the number of lanes, not by their length. Rows
-- without a lane have their own index, so rows in lanes do not slow them down.
drop index esim_webhooks.event_pending;

create index event_pending on esim_webhooks.event (state, ends_at)
  where state in ('ready', 'leased') and body is not null and lane is null;

create index event_pending_in_lane on esim_webhooks.event (ends_at)
  where state = 'ready' and body is not null and lane is not null;

-- Only events that are ready: a leased one blocks its lane wherever it stands, and event_lane_leased has it. So leasing an event adds
-- it to no index of waiting events in lanes.
drop index esim_webhooks.event_lane;

create index event_lane on esim_webhooks.event (lane, occurred_at, source, id)
  where lane is not null and state = 'ready';

-- 0002 explains the settings, and why selecting and leasing are several statements. jit is off, since the settings raise the cost
-- of a plan that sorts, and each take would compile it. Rows are named by their places in the table, which saves a search of the
-- primary key for each. A place stays valid until the last statement: what the calling statement could see is not overwritten
-- before that ends. Rows without a lane are locked by then. Rows in lanes are not, since the lock on a lane keeps other takes away, but
-- they are checked again: another worker may have worked them and freed their lane since they were selected. Each step reads only as
-- much of the one before as it needs.
create or replace function esim_webhooks.take(
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

-- Suspect and due → leased, like take in 0002, which explains it. Suspects are few among many, so they have an index of their own.
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

insert into esim_webhooks.migration (number) values (4);

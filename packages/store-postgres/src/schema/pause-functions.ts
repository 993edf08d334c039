import { inOrder, plpgsql } from "./sql-function.ts";

/** The functions by which takes obey the pauses of operators. */
export const pauseFunctions: readonly string[] = [
  `-- The types that are paused at that moment; '*' is all types. Null: none.
create function esim_webhooks.paused_types(moment timestamptz) returns text[]
language sql stable
as $body$
  select array_agg(type) from esim_webhooks.pause where until is null or until > moment
$body$`,

  // Of the events in lanes that became due in that stretch of time, at most that many, parks those that wait behind a parked one: they cannot
  // run before it, and a take would read past them. They are released with it. release_behind has them released when it is erased: the lock on
  // the first event of a lane keeps it from being erased until those behind it can be seen.
  plpgsql(
    `park_behind(since timestamptz, upto timestamptz, most integer, paused text[]) returns void`,
    ["enable_nestloop", "enable_mergejoin", ...inOrder],
    `
declare
  each text;
  firsts tid[];
  places tid[];
begin
  with near as materialized (
    select lane from esim_webhooks.event
    where state = 'ready' and body is not null and lane is not null and ends_at > since and ends_at <= upto
    order by ends_at
    limit most
  )
  select array_agg((
    select ctid from esim_webhooks.event as first
    where first.lane = named.lane and first.lane is not null and first.state = 'ready'
    order by first.occurred_at, first.source, first.id
    limit 1
  )) into firsts
  from (select distinct lane from near) as named;
  for each in
    select distinct parked_by from esim_webhooks.event where ctid = any (firsts) and parked_by = any (paused)
  loop
    with first as materialized (
      select lane, occurred_at, source, id from esim_webhooks.event
      where ctid = any (firsts) and case state when 'ready' then parked_by = each end
      for share skip locked
    ), near as materialized (
      select ctid as place, lane, occurred_at, source, id from esim_webhooks.event
      where state = 'ready' and body is not null and lane is not null and ends_at > since and ends_at <= upto
      order by ends_at
      limit most
    ), behind as materialized (
      select near.place from near join first on first.lane = near.lane
        and (near.occurred_at, near.source, near.id) > (first.occurred_at, first.source, first.id)
    )
    select array_agg(place) into places from behind;
    with own as materialized (
      select ctid as place from esim_webhooks.event
      where ctid = any (places) and case state when 'ready' then ends_at <= upto and not suspect end
      for update skip locked
    )
    select array_agg(place) into places from own;
    update esim_webhooks.event set due_at = ends_at, ends_at = 'infinity',
      parked_by = (select type || ' ' || generation from esim_webhooks.pause where pause.type = each)
    where ctid = any (places);
  end loop;
end`,
  ),

  // Parks due events of paused types: at most that many in lanes, and as many out of lanes, of those that became due after a time. A take
  // would otherwise read past them. Then parks those that wait behind them. Returns where to continue, or null once it has read all. It reads
  // a bounded stretch of what is due, since the events of other types may be many. Suspects are not parked: they are few.
  //
  // The lock on a type keeps its pause from being deleted until what is parked here is committed: a parked event without a pause would
  // wait indefinitely. What is paused is read again under the locks.
  plpgsql(
    `park_due(since timestamptz, moment timestamptz, most integer) returns timestamptz`,
    inOrder,
    `
declare
  paused text[];
  upto timestamptz;
  places tid[];
  in_lanes tid[];
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('esim_webhooks pause ' || type, 0))
  from unnest(array_remove(esim_webhooks.paused_types(moment), '*')) as type order by type;
  paused := array_remove(esim_webhooks.paused_types(moment), '*');
  if paused is null or paused = '{}' then
    return null;
  end if;
  upto := least(moment, (
    select ends_at from esim_webhooks.event
    where state = 'ready' and body is not null and lane is null and ends_at > since and ends_at <= moment
    order by state, ends_at
    offset 5 * most limit 1
  ), (
    select ends_at from esim_webhooks.event
    where state = 'ready' and body is not null and lane is not null and ends_at > since and ends_at <= moment
    order by ends_at
    offset 5 * most limit 1
  ));
  with due as materialized (
    select ctid as place from esim_webhooks.event
    where state = 'ready' and body is not null and lane is null and ends_at > since and ends_at <= upto and not suspect
      and type = any (paused)
    order by state, ends_at
    limit most
    for update skip locked
  )
  select array_agg(place) into places from due;
  with due as materialized (
    select ctid as place from esim_webhooks.event
    where state = 'ready' and body is not null and lane is not null and ends_at > since and ends_at <= upto and not suspect
      and type = any (paused)
    order by ends_at
    limit most
    for update skip locked
  )
  select array_agg(place) into in_lanes from due;
  update esim_webhooks.event set due_at = ends_at, ends_at = 'infinity', parked_by = type where ctid = any (places || in_lanes);
  perform esim_webhooks.park_behind(since, upto, 5 * most, paused);
  return case
    when most in (cardinality(places), cardinality(in_lanes)) then since
    when upto < moment then upto end;
end`,
  ),

  // Makes at most that many parked events due again that no pause holds any longer. Returns how many. Once there are none, it deletes the
  // pauses that have ended, unless a transaction that parks by one of them has not ended.
  plpgsql(
    `release_parked(moment timestamptz, most integer) returns integer`,
    inOrder,
    `
declare
  ended text[];
  each text;
  places tid[];
begin
  with recursive known as (
    (
      select parked_by from esim_webhooks.event where state = 'ready' and ends_at = 'infinity' order by parked_by limit 1
    ) union all select (
      select parked_by from esim_webhooks.event as next
      where state = 'ready' and ends_at = 'infinity' and next.parked_by > known.parked_by
      order by parked_by limit 1
    ) from known where known.parked_by is not null
  )
  select array_agg(parked_by) into ended from known
  where parked_by is not null and not exists (
    select from esim_webhooks.pause
    where (until is null or until > moment) and parked_by in (type, type || ' ' || generation)
  );
  if ended is not null then
    with parked as materialized (
      select ctid as place from esim_webhooks.event
      where state = 'ready' and ends_at = 'infinity' and parked_by = any (ended)
      limit most
      for update skip locked
    )
    select array_agg(place) into places from parked;
    update esim_webhooks.event set ends_at = due_at, due_at = null, parked_by = null where ctid = any (places);
    return coalesce(cardinality(places), 0);
  end if;
  for each in select type from esim_webhooks.pause where until <= moment loop
    if pg_try_advisory_xact_lock(hashtextextended('esim_webhooks pause ' || each, 0)) then
      delete from esim_webhooks.pause
      where type = each and until <= moment
        and not exists (
          select from esim_webhooks.event
          where state = 'ready' and ends_at = 'infinity' and parked_by >= each and parked_by < each || '!' -- which follows the space
        );
    end if;
  end loop;
  return 0;
end`,
  ),

  // Has takes release the events that are parked behind the first ones of these lanes, one of which was erased: a lane may have a million.
  // They park again what still waits.
  plpgsql(
    `release_behind(lanes text[]) returns void`,
    ["enable_bitmapscan", "enable_seqscan", "jit"],
    `
begin
  update esim_webhooks.pause set generation = generation + 1
  where type || ' ' || generation in (
    select parked_by from esim_webhooks.event
    where lane = any (lanes) and lane is not null and state = 'ready' and ends_at = 'infinity'
  );
end`,
  ),

  // What a take does if there are pauses: releases what is no longer paused, and parks what it would read past. Returns the paused types.
  plpgsql(
    `obey_pauses(moment timestamptz, most integer) returns text[]`,
    inOrder,
    `
declare
  paused text[];
  since timestamptz := '-infinity';
  upto timestamptz;
  stop constant timestamptz := clock_timestamp() + interval '500 milliseconds';
begin
  perform esim_webhooks.release_parked(moment, 1000);
  paused := esim_webhooks.paused_types(moment);
  if paused is null or '*' = any (paused) then
    return paused;
  end if;
  if exists (
    select from (
      (
        select type, lane from esim_webhooks.event
        where state = 'ready' and body is not null and lane is null and ends_at <= moment
        order by state, ends_at
        limit most
      ) union all (
        select type, lane from esim_webhooks.event
        where state = 'ready' and body is not null and lane is not null and ends_at <= moment
        order by ends_at
        limit most
      )
    ) as near where type = any (paused) or lane is not null and (
      select first.parked_by from esim_webhooks.event as first
      where first.lane = near.lane and first.lane is not null and first.state = 'ready'
      order by first.occurred_at, first.source, first.id
      limit 1
    ) = any (paused)
  ) then
    loop -- as long as a stretch is full of them: a pause that was killed may have left a million
      upto := esim_webhooks.park_due(since, moment, 1000);
      exit when upto is distinct from since or clock_timestamp() > stop;
    end loop;
  end if;
  return paused;
end`,
  ),
];

/** As for the first migration. */
export const id = "cd232528bec65813";

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
  add column erased_at timestamptz,
  -- when it was due, while it is leased or parked: due, of a paused type or behind such an event in its lane, and with an ends_at of
  -- infinity, so that no take reads past it
  add column due_at timestamptz,
  -- what has parked it: its own type, or the type of the first event of its lane and the generation of that pause
  add column parked_by text collate "C",
  -- an array: the last ten failed attempts
  add column history jsonb;

-- Every update changes an indexed column, so none profits from room in its page. Full pages take 14 % less disk, and vacuums less CPU.
alter table esim_webhooks.event set (fillfactor = 100);

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

-- What operators have paused. A pause that has ended stays until the events that are parked by it are due again. Those that wait behind
-- others carry its generation: with the next one, all of them are due again.
create table esim_webhooks.pause (
  -- '*': all types
  type text collate "C" primary key,
  reason text not null,
  since timestamptz not null,
  -- null: until it is resumed
  until timestamptz,
  by text,
  generation integer not null default 0
);

-- what happened in each minute of the last day, if that is counted
create table esim_webhooks.minute (
  at timestamptz primary key,
  stored bigint not null,
  done bigint not null,
  retried bigint not null,
  dead bigint not null
) with (fillfactor = 50);

-- the last fifty imports, and the last fifty passes of reconcile, as JSON
create table esim_webhooks.run (
  number bigint generated always as identity primary key,
  kind text not null,
  note text not null
);

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

-- The types that are paused at that moment; '*' is all types. Null: none.
create function esim_webhooks.paused_types(moment timestamptz) returns text[]
language sql stable
as $paused$
  select array_agg(type) from esim_webhooks.pause where until is null or until > moment
$paused$;

-- Of the events in lanes that became due in that stretch of time, at most that many, parks those that wait behind a parked one: they cannot
-- run before it, and a take would read past them. They are released with it. release_behind has them released when it is erased: the lock on
-- the first event of a lane keeps it from being erased until those behind it can be seen.
create function esim_webhooks.park_behind(since timestamptz, upto timestamptz, most integer, paused text[]) returns void
language plpgsql
set enable_nestloop = off
set enable_mergejoin = off
set enable_bitmapscan = off
set enable_seqscan = off
set enable_sort = off
set jit = off
as $park$
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
end
$park$;

-- Parks due events of paused types: at most that many in lanes, and as many out of lanes, of those that became due after a time. A take
-- would otherwise read past them. Then parks those that wait behind them. Returns where to continue, or null once it has read all. It reads
-- a bounded stretch of what is due, since the events of other types may be many. Suspects are not parked: they are few.
--
-- The lock on a type keeps its pause from being deleted until what is parked here is committed: a parked event without a pause would
-- wait indefinitely. What is paused is read again under the locks.
create function esim_webhooks.park_due(since timestamptz, moment timestamptz, most integer) returns timestamptz
language plpgsql
set enable_bitmapscan = off
set enable_seqscan = off
set enable_sort = off
set jit = off
as $park$
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
end
$park$;

-- Makes at most that many parked events due again that no pause holds any longer. Returns how many. Once there are none, it deletes the
-- pauses that have ended, unless a transaction that parks by one of them has not ended.
create function esim_webhooks.release_parked(moment timestamptz, most integer) returns integer
language plpgsql
set enable_bitmapscan = off
set enable_seqscan = off
set enable_sort = off
set jit = off
as $release$
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
end
$release$;

-- Has takes release the events that are parked behind the first ones of these lanes, one of which was erased: a lane may have a million.
-- They park again what still waits.
create function esim_webhooks.release_behind(lanes text[]) returns void
language plpgsql
set enable_bitmapscan = off
set enable_seqscan = off
set jit = off
as $release$
begin
  update esim_webhooks.pause set generation = generation + 1
  where type || ' ' || generation in (
    select parked_by from esim_webhooks.event
    where lane = any (lanes) and lane is not null and state = 'ready' and ends_at = 'infinity'
  );
end
$release$;

-- What a take does if there are pauses: releases what is no longer paused, and parks what it would read past. Returns the paused types.
create function esim_webhooks.obey_pauses(moment timestamptz, most integer) returns text[]
language plpgsql
set enable_bitmapscan = off
set enable_seqscan = off
set enable_sort = off
set jit = off
as $obey$
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
end
$obey$;

-- As take of the first migration, and it notes when an event is first taken, returns since when each was due, and obeys pauses.
-- take and take_suspects do not know pauses: workers of the version before take events of paused types, until they are replaced.
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
  paused text[];
begin
  if exists (select from esim_webhooks.pause) then
    paused := esim_webhooks.obey_pauses(moment, most);
    if '*' = any (paused) then
      return;
    end if;
    except_types := except_types || paused;
  end if;
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
    select ctid as place, source, id, lane, type, occurred_at, ends_at, suspect from esim_webhooks.event
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
    if paused is not null then
      perform esim_webhooks.obey_pauses(moment, reach);
    end if;
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
      taken_at = coalesce(taken.taken_at, moment), due_at = taken.ends_at
    where taken.ctid = any (places)
      -- It may have been erased, and lost its lane. A case: by the bare condition the planner may read all of event_ready instead of the places
      and case taken.state when 'ready' then taken.ends_at <= moment and not taken.suspect end
      and (taken.lane is null or not exists (
        select from esim_webhooks.event as worked
        where worked.lane = taken.lane and worked.lane is not null and worked.state = 'leased'
        offset 0
      ))
    returning taken.source, taken.id, taken.fence, taken.type, taken.body, taken.received_at, taken.attempts,
      taken.waiting_since, taken.replay, taken.trace, taken.due_at;
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
  paused text[];
begin
  if exists (select from esim_webhooks.pause) then
    paused := esim_webhooks.paused_types(moment);
    if '*' = any (paused) then
      return;
    end if;
    except_types := except_types || paused;
  end if;
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
    set state = 'leased', fence = nextval('esim_webhooks.fence'), attempts = taken.attempts + 1, ends_at = moment + lease,
      taken_at = coalesce(taken.taken_at, moment), due_at = taken.ends_at
    from unnest(sources, ids) as chosen (source, id)
    where taken.source = chosen.source and taken.id = chosen.id
      and (taken.lane is null or not exists (
        select from esim_webhooks.event as worked
        where worked.lane = taken.lane and worked.lane is not null and worked.state = 'leased'
      ))
    returning taken.source, taken.id, taken.fence, taken.type, taken.body, taken.received_at, taken.attempts,
      taken.waiting_since, taken.replay, taken.trace, taken.due_at;
end
$take$;

-- Up to that many sources with due events of the wanted types, from the one after a source on, in a circle; and the source to continue
-- after. It visits a bounded number of sources. Each visit is a search in event_by_source, the index of inboxes with fairBy.
create function esim_webhooks.due_sources(
  since text, most integer, moment timestamptz, only_types text[], except_types text[], out sources text[], out upto text
)
language plpgsql
set enable_bitmapscan = off
set enable_seqscan = off
set enable_sort = off
set jit = off
as $sources$
declare
  visits integer := 100 + 4 * most;
  is_second_round boolean := false;
  following text;
begin
  if exists (select from esim_webhooks.pause) then
    except_types := except_types || esim_webhooks.paused_types(moment);
  end if;
  sources := '{}';
  upto := since;
  while visits > 0 and cardinality(sources) < most loop
    visits := visits - 1;
    select source into following from esim_webhooks.event
    where state = 'ready' and body is not null and source > upto
    order by source limit 1;
    if following is null then
      exit when is_second_round;
      is_second_round := true;
      upto := '';
      continue;
    end if;
    exit when is_second_round and following > since;
    upto := following;
    if exists (
      select from esim_webhooks.event
      where state = 'ready' and body is not null and source = following and ends_at <= moment and not suspect
        and (only_types is null or type = any (only_types))
        and (except_types is null or type is null or type <> all (except_types))
      order by source, ends_at limit 1
    ) then
      sources := sources || following;
    end if;
  end loop;
end
$sources$;

-- As lease_due, and it takes that many events of each of the sources: with fairBy, what one source has due does not keep the others
-- waiting. What it misses, since the lanes of a source are blocked or another take has locked its rows, lease_due takes.
create function esim_webhooks.lease_shares(
  sources text[], share integer, lease interval, moment timestamptz, only_types text[], except_types text[], held_by_dead boolean
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
  reach constant integer := 100 + 4 * share;
  places tid[];
  paused text[];
begin
  if exists (select from esim_webhooks.pause) then
    paused := esim_webhooks.obey_pauses(moment, share * cardinality(sources));
    if '*' = any (paused) then
      return;
    end if;
    except_types := except_types || paused;
  end if;
  with due as materialized (
    select next.place from unnest(sources) as given (name) cross join lateral (
      select near.place from (
        select ctid as place, source, id, lane, occurred_at from esim_webhooks.event
        where state = 'ready' and body is not null and source = given.name and ends_at <= moment and not suspect
          and (only_types is null or type = any (only_types))
          and (except_types is null or type is null or type <> all (except_types))
        order by source, ends_at
        limit reach
      ) as near
      where near.lane is null or not exists (
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
      limit share
    ) as next
  )
  select array_agg(place) into places from due;
  with own as materialized (
    select ctid as place from esim_webhooks.event
    where ctid = any (places)
      and case state when 'ready' then ends_at <= moment and not suspect end
      and (lane is null or pg_try_advisory_xact_lock(hashtextextended('esim_webhooks lane ' || lane, 0)))
    for update skip locked
  )
  select array_agg(place) into places from own;
  return query
    update esim_webhooks.event as taken
    set state = 'leased', fence = nextval('esim_webhooks.fence'), attempts = taken.attempts + 1, ends_at = moment + lease,
      taken_at = coalesce(taken.taken_at, moment), due_at = taken.ends_at
    where taken.ctid = any (places)
      and case taken.state when 'ready' then taken.ends_at <= moment and not taken.suspect end
      and (taken.lane is null or not exists (
        select from esim_webhooks.event as worked
        where worked.lane = taken.lane and worked.lane is not null and worked.state = 'leased'
        offset 0
      ))
    returning taken.source, taken.id, taken.fence, taken.type, taken.body, taken.received_at, taken.attempts,
      taken.waiting_since, taken.replay, taken.trace, taken.due_at;
end
$take$;

-- As settle of the first migration, and it notes when an event is settled, and adds the reports of failed attempts to its history.
-- With its body, a done event loses what is of no use then: its trace and its key, which would be a quarter of what is kept of it, and when
-- it occurred, which orders lanes.
-- When all are done, which is usual, the arrays from states on are null, and a statement without their cases takes less.
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
  if states is null then
    with held as (
      update esim_webhooks.event as settled
      set state = 'done', ends_at = moment + retention, suspect = false, waiting_since = null, error = null, settled_at = moment,
        due_at = null,
        body = case when keep_bodies then settled.body end,
        occurred_at = case when keep_bodies then settled.occurred_at end,
        trace = case when keep_bodies then settled.trace end,
        key = case when keep_bodies then settled.key end
      from unnest(sources, ids, fences) as given (source, id, fence)
      where settled.source = given.source and settled.id = given.id
        and settled.fence = given.fence and settled.state = 'leased'
      returning settled.fence
    )
    select array_agg(held.fence) into kept from held;
  else
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
        due_at = null,
        settled_at = case when given.state in ('done', 'unhandled', 'dead') then moment end,
        history = case when given.report is null then settled.history else
          esim_webhooks.with_attempt(settled.history, given.report, moment) end,
        body = case when given.state = 'done' and not keep_bodies then null else settled.body end,
        occurred_at = case when given.state = 'done' and not keep_bodies then null else settled.occurred_at end,
        trace = case when given.state = 'done' and not keep_bodies then null else settled.trace end,
        key = case when given.state = 'done' and not keep_bodies then null else settled.key end
      from unnest(sources, ids, fences, states, waits, errors, reports)
        as given (source, id, fence, state, wait, error, report)
      where settled.source = given.source and settled.id = given.id
        and settled.fence = given.fence and settled.state = 'leased'
      returning settled.fence
    )
    select array_agg(held.fence) into kept from held;
  end if;
  if cardinality(kept) = cardinality(fences) then
    return; -- usual, and cheaper than the comparison
  end if;
  return query select * from unnest(fences) except select * from unnest(kept);
end
$settle$;

-- Counts from indexes alone, each up to a limit. A function, since its settings keep the planner off the table: by the statistics of
-- yesterday nearly all rows may be of one state, and a scan of the table seems cheaper. Each condition repeats that of an index, and each
-- order is its own: so no other index is read.
create function esim_webhooks.gauges(moment timestamptz, most integer) returns table (
  ready bigint, waiting bigint, paused bigint, leased bigint, unhandled bigint, dead bigint, oldest_due timestamptz
)
language plpgsql
set enable_bitmapscan = off
set enable_seqscan = off
set enable_sort = off
set jit = off
as $gauges$
begin
  return query select
    (select count(*) from (select from esim_webhooks.event
      where state = 'ready' and body is not null and lane is null and ends_at <= moment
      order by state, ends_at limit most) as found)
    + (select count(*) from (select from esim_webhooks.event
      where state = 'ready' and body is not null and lane is not null and ends_at <= moment
      order by ends_at limit most) as found),
    (select count(*) from (select from esim_webhooks.event
      where state = 'ready' and body is not null and lane is null and ends_at > moment and ends_at < 'infinity'
      order by state, ends_at limit most) as found)
    + (select count(*) from (select from esim_webhooks.event
      where state = 'ready' and body is not null and lane is not null and ends_at > moment and ends_at < 'infinity'
      order by ends_at limit most) as found),
    (select count(*) from (select from esim_webhooks.event
      where state = 'ready' and ends_at = 'infinity' order by parked_by limit most) as found),
    (select count(*) from (select from esim_webhooks.event
      where state = 'leased' and body is not null and lane is null order by state, ends_at limit most) as found)
    + (select count(*) from (select from esim_webhooks.event where lane is not null and state = 'leased' order by lane limit most) as found),
    (select count(*) from (select from esim_webhooks.event where state = 'unhandled' order by received_at limit most) as found),
    (select count(*) from (select from esim_webhooks.event where state = 'dead' order by received_at limit most) as found),
    least(
      (select ends_at from esim_webhooks.event
        where state = 'ready' and body is not null and lane is null and ends_at <= moment order by state, ends_at limit 1),
      (select ends_at from esim_webhooks.event
        where state = 'ready' and body is not null and lane is not null and ends_at <= moment order by ends_at limit 1)
    );
end
$gauges$;
`;

-- The inbox. It uses the table of the dedupe store, so an id that was done inline is done for the inbox.
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

-- ready: when it is due; leased: when the lease ends; done or unhandled: when the retention ends; dead: infinity
comment on column esim_webhooks.event.ends_at is 'when the row is due, or its lease or retention ends';

create index event_pending on esim_webhooks.event (state, ends_at)
  where state in ('ready', 'leased') and body is not null;

create index event_suspect on esim_webhooks.event (ends_at)
  where state = 'ready' and body is not null and suspect;

-- an event without a handler: its body is kept for the retention, and it can be redriven once there is a handler
create index event_unhandled on esim_webhooks.event (received_at) where state = 'unhandled';

create index event_dead on esim_webhooks.event (received_at) where state = 'dead';

create index event_conflicts on esim_webhooks.event (conflicts) where conflicts > 0;

-- the events ahead in a lane, and the dead ones
create index event_lane on esim_webhooks.event (lane, occurred_at, source, id)
  where lane is not null and state in ('ready', 'leased');

create index event_lane_dead on esim_webhooks.event (lane, occurred_at, source, id)
  where lane is not null and state = 'dead';

-- two workers may find a lane free at the same moment, but only one can lease an event of it
create unique index event_lane_leased on esim_webhooks.event (lane)
  where lane is not null and state = 'leased';

-- Ready and due → leased, the longest due first. Skips rows that other workers have locked.
-- It is a function so that its settings keep the planner on the ordered index: the statistics of a queue are always out of
-- date, and with them the planner would sort the whole backlog for each take.
--
-- Takes only the first event of a lane by occurred_at, and none while another one is leased. An event that waits for its next
-- attempt counts as first too. Each condition on a lane repeats that of an index word for word. It takes two statements: the
-- first may see a lane as free that was taken meanwhile. The lanes are locked between the two, so the second sees
-- every lease on them.
-- Waiting at the unique index instead, while holding rows of other lanes, would cause deadlocks.
create function esim_webhooks.take(
  most integer, lease interval, moment timestamptz, only_types text[], except_types text[], held_by_dead boolean
) returns setof esim_webhooks.event
language plpgsql
set enable_bitmapscan = off
set enable_seqscan = off
set enable_sort = off
as $take$
declare
  sources text[];
  ids text[];
begin
  with due as materialized (
    select source, id, lane from esim_webhooks.event
    where state = 'ready' and body is not null and ends_at <= moment
      and (only_types is null or type = any (only_types))
      and (except_types is null or type is null or type <> all (except_types))
      and (lane is null or not (
        exists (
          select from esim_webhooks.event as worked
          where worked.lane = event.lane and worked.lane is not null and worked.state = 'leased'
        ) or exists (
          select from esim_webhooks.event as ahead
          where ahead.lane = event.lane and ahead.lane is not null and ahead.state in ('ready', 'leased')
            and (ahead.occurred_at, ahead.source, ahead.id) < (event.occurred_at, event.source, event.id)
        ) or held_by_dead and exists (
          select from esim_webhooks.event as died
          where died.lane = event.lane and died.lane is not null and died.state = 'dead'
            and (died.occurred_at, died.source, died.id) < (event.occurred_at, event.source, event.id)
        )
      ))
    order by state, ends_at
    limit most
    for update skip locked
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

-- Leased → the state of each settlement, for the leases that are still held; 'untouched' is ready with the attempt refunded. When all are
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

insert into esim_webhooks.migration (number) values (2);

-- The inbox, on the table of the dedupe store: an id that was done inline is done for the inbox.
alter table esim_webhooks.event
  add column type text,
  -- null for an id that is worked inline, and once an event is done
  add column body bytea,
  add column body_hash bytea,
  add column received_at timestamptz,
  add column occurred_at timestamptz,
  add column lane text collate "C",
  add column attempts integer not null default 0,
  add column conflicts integer not null default 0,
  add column error text,
  drop constraint event_state_check,
  add constraint event_state_check check (state in ('ready', 'leased', 'done', 'dead'));

-- ready: when it is due; leased: when the lease ends; done: when the id may be forgotten; dead: never
comment on column esim_webhooks.event.ends_at is 'when the state may be left';

create index event_pending on esim_webhooks.event (state, ends_at)
  where state in ('ready', 'leased') and body is not null;

create index event_dead on esim_webhooks.event (received_at) where state = 'dead';

create index event_conflicts on esim_webhooks.event (conflicts) where conflicts > 0;

-- who is ahead in a lane, and who died in it
create index event_lane on esim_webhooks.event (lane, occurred_at, source, id)
  where lane is not null and state in ('ready', 'leased');

create index event_lane_dead on esim_webhooks.event (lane, occurred_at, source, id)
  where lane is not null and state = 'dead';

-- two workers that look at the same moment may both find a lane free; only one of them gets it
create unique index event_lane_leased on esim_webhooks.event (lane)
  where lane is not null and state = 'leased';

-- Ready and due → leased, what has been due for longest first; workers skip what others are just taking.
-- A function, since its settings are what keeps the planner on the ordered index: of a queue its statistics are always
-- those of another hour, and by them it would rather sort the whole backlog for each take.
--
-- Of a lane only the first by occurred_at is taken, one that waits for its next try included, and none while another one
-- is worked. Each condition on a lane is that of an index, word for word. In two statements, since the first may look at a table in which a lane that was taken meanwhile is
-- free still; lanes are locked between the two, so that the second sees who has them. Who waited at the unique index
-- instead, with rows of other lanes in hand, would make deadlocks.
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

-- Leased → what each settlement says, for the leases whose fence still is the row's: returns those fences. A function as
-- well: by its statistics nothing is ever leased, and the planner would look through all that is. It goes through the
-- settlements in their order, so that two who settle the same rows wait for each other one way only.
create function esim_webhooks.settle(
  sources text[], ids text[], fences bigint[], states text[], waits double precision[], refunds integer[],
  errors text[], moment timestamptz, retention interval, keep_bodies boolean
) returns setof bigint
language sql volatile
set enable_bitmapscan = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $settle$
  update esim_webhooks.event as settled
  set state = given.state,
    ends_at = case given.state
      when 'done' then moment + retention
      when 'dead' then 'infinity'
      else moment + given.wait * interval '1 millisecond' end,
    attempts = settled.attempts - given.refund,
    error = given.error,
    body = case when given.state = 'done' and not keep_bodies then null else settled.body end
  from unnest(sources, ids, fences, states, waits, refunds, errors)
    as given (source, id, fence, state, wait, refund, error)
  where settled.source = given.source and settled.id = given.id
    and settled.fence = given.fence and settled.state = 'leased'
  returning settled.fence
$settle$;

-- Leased → leased until then. As settle.
create function esim_webhooks.renew(sources text[], ids text[], fences bigint[], until timestamptz) returns setof bigint
language sql volatile
set enable_bitmapscan = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $renew$
  update esim_webhooks.event as renewed
  set ends_at = until
  from unnest(sources, ids, fences) as given (source, id, fence)
  where renewed.source = given.source and renewed.id = given.id
    and renewed.fence = given.fence and renewed.state = 'leased'
  returning renewed.fence
$renew$;

-- how far latestOnly has come for each subject
create table esim_webhooks.latest (
  family text collate "C" not null,
  subject text collate "C" not null,
  occurred_at timestamptz not null,
  primary key (family, subject)
) with (fillfactor = 80);

insert into esim_webhooks.migration (number) values (2);

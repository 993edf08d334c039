import { inOrder, plpgsql } from "./sql-function.ts";

const wanted = `(only_types is null or type = any (only_types))
      and (except_types is null or type is null or type <> all (except_types))`;

/**
 * Whether no event of the lane of `row` is leased, and none before it waits or, with `held_by_dead`, has died. An event that waits for
 * its next attempt counts as well. Each condition repeats that of an index word for word.
 */
const isFirst = (row: string): string => `not exists (
        select from esim_webhooks.event as ahead
        where ahead.lane = ${row}.lane and ahead.lane is not null and ahead.state = 'ready'
          and (ahead.occurred_at, ahead.source, ahead.id) < (${row}.occurred_at, ${row}.source, ${row}.id)
        offset 0
      ) and ${isFree(row)}`;

const isFree = (row: string): string => `${isNotWorked(row)} and not (held_by_dead and exists (
        select from esim_webhooks.event as died
        where died.lane = ${row}.lane and died.lane is not null and died.state = 'dead'
          and (died.occurred_at, died.source, died.id) < (${row}.occurred_at, ${row}.source, ${row}.id)
        offset 0
      ))`;

const isNotWorked = (row: string): string => `not exists (
        select from esim_webhooks.event as worked
        where worked.lane = ${row}.lane and worked.lane is not null and worked.state = 'leased'
        offset 0
      )`;

const ownLane = "pg_try_advisory_xact_lock(hashtextextended('esim_webhooks lane ' || lane, 0))";

const filters = "moment timestamptz, only_types text[], except_types text[], held_by_dead boolean";

const leases = `table (
  source text, id text, fence bigint, type text, body bytea, received_at timestamptz, attempts integer, tries integer,
  waiting_since timestamptz, replay jsonb, trace text, due_at timestamptz
)`;

/** Notes what is paused as `paused`, and adds it to the types that are not taken. */
const obey = (paused: string): string => `if exists (select from esim_webhooks.pause) then
    paused := ${paused};
    if '*' = any (paused) then
      return;
    end if;
    except_types := except_types || paused;
  end if;`;

/**
 * Leases the rows at `places`: notes when each is first taken, and returns since when it was due. A row in a lane is not locked, and is
 * checked again: another worker may have worked it and freed its lane since it was selected, or it was erased and has lost its lane.
 * The check is a case: by the bare condition, the planner may read all of event_ready instead of the places.
 */
const lease = (isSuspect: string): string => `return query
    update esim_webhooks.event as taken
    set state = 'leased', fence = nextval('esim_webhooks.fence'), attempts = taken.attempts + 1, tries = taken.tries + 1,
      ends_at = moment + lease, taken_at = coalesce(taken.taken_at, moment), due_at = taken.ends_at
    where taken.ctid = any (places)
      and case taken.state when 'ready' then taken.ends_at <= moment and ${isSuspect} end
      and (taken.lane is null or ${isNotWorked("taken")})
    returning taken.source, taken.id, taken.fence, taken.type, taken.body, taken.received_at, taken.attempts, taken.tries,
      taken.waiting_since, taken.replay, taken.trace, taken.due_at;`;

const inOrderByLoops = ["enable_hashjoin", "enable_mergejoin", ...inOrder];

/**
 * Ready and due → leased, the longest due first. Skips rows that other workers have locked.
 *
 * Takes only the first event of a lane by occurred_at, and none while another one is leased. Selecting and leasing are several
 * statements: the first may see a lane as free that was taken meanwhile. The lanes are locked between them, so the last one sees
 * every lease on them. Waiting at the unique index instead, while holding rows of other lanes, would cause deadlocks.
 *
 * Of the due rows in lanes it reads the first thousand or more. Usually these are all, or contain enough events whose turn it is.
 * Otherwise it reads the first event of every lane, which takes time by the number of lanes, not by their length.
 *
 * Rows are named by their places in the table, which saves a search of the primary key for each. A place stays valid until the last
 * statement: what the calling statement could see is not overwritten before that ends. Rows without a lane are locked by then; the lock
 * on a lane keeps other takes away from the others. Each step reads only as much of the one before as it needs.
 */
const leaseDue = plpgsql(
  `lease_due(most integer, lease interval, ${filters}) returns ${leases}`,
  inOrderByLoops,
  `
#variable_conflict use_column
declare
  reach constant integer := 1000 + 4 * most;
  looked_at integer;
  places tid[];
  in_lanes tid[];
  paused text[];
begin
  ${obey("esim_webhooks.obey_pauses(moment, most)")}
  with due as materialized (
    select ctid as place from esim_webhooks.event
    where state = 'ready' and body is not null and lane is null and ends_at <= moment and not suspect
      and ${wanted}
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
      and ${wanted}
      and ${isFirst("near")}
  ), own as materialized (
    select place from due
    where ${ownLane}
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
        and ${wanted}
        and ${isFree("head")}
      order by ends_at
    ), own as materialized (
      select place from due
      where ${ownLane}
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
  ${lease("not taken.suspect")}
end`,
);

/** Suspect and due → leased, like lease_due. Suspects are few among many, so they have an index of their own. */
const leaseSuspects = plpgsql(
  `lease_suspects(most integer, lease interval, ${filters}) returns ${leases}`,
  inOrder,
  `
#variable_conflict use_column
declare
  places tid[];
  paused text[];
begin
  ${obey("esim_webhooks.paused_types(moment)")}
  with due as materialized (
    select ctid as place, lane from esim_webhooks.event as waiting
    where state = 'ready' and body is not null and suspect and ends_at <= moment
      and ${wanted}
      and (lane is null or ${isFirst("waiting")})
    order by ends_at
    limit most
    for update of waiting skip locked
  )
  select array_agg(place) into places from due where lane is null or ${ownLane};
  ${lease("taken.suspect")}
end`,
);

/**
 * Up to that many sources with due events of the wanted types, from the one after a source on, in a circle; and the source to continue
 * after. It visits a bounded number of sources. Each visit is a search in event_by_source, the index of inboxes with fairBy.
 */
const dueSources = plpgsql(
  `due_sources(
  since text, most integer, moment timestamptz, only_types text[], except_types text[], out sources text[], out upto text
)`,
  inOrder,
  `
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
        and ${wanted}
      order by source, ends_at limit 1
    ) then
      sources := sources || following;
    end if;
  end loop;
end`,
);

/**
 * As lease_due, and it takes that many events of each of the sources: with fairBy, what one source has due does not keep the others
 * waiting. What it misses, since the lanes of a source are blocked or another take has locked its rows, lease_due takes.
 */
const leaseShares = plpgsql(
  `lease_shares(sources text[], share integer, lease interval, ${filters}) returns ${leases}`,
  inOrderByLoops,
  `
#variable_conflict use_column
declare
  reach constant integer := 100 + 4 * share;
  places tid[];
  paused text[];
begin
  ${obey("esim_webhooks.obey_pauses(moment, share * cardinality(sources))")}
  with due as materialized (
    select next.place from unnest(sources) as given (name) cross join lateral (
      select near.place from (
        select ctid as place, source, id, lane, occurred_at from esim_webhooks.event
        where state = 'ready' and body is not null and source = given.name and ends_at <= moment and not suspect
          and ${wanted}
        order by source, ends_at
        limit reach
      ) as near
      where near.lane is null or ${isFirst("near")}
      limit share
    ) as next
  )
  select array_agg(place) into places from due;
  with own as materialized (
    select ctid as place from esim_webhooks.event
    where ctid = any (places)
      and case state when 'ready' then ends_at <= moment and not suspect end
      and (lane is null or ${ownLane})
    for update skip locked
  )
  select array_agg(place) into places from own;
  ${lease("not taken.suspect")}
end`,
);

/** The functions that take events. They are functions so that their settings keep the planner on the ordered indexes. */
export const takeFunctions: readonly string[] = [leaseDue, leaseSuspects, dueSources, leaseShares];

import { inOrder, plpgsql } from "./sql-function.ts";

const wanted = `(only_types is null or type = any (only_types))
      and (except_types is null or type is null or type <> all (except_types))`;

/**
 * Whether no event of the lane of `row` is leased, and none before it waits or, with `held_by_dead`, has died. An event that waits for
 * its next attempt blocks those behind it, too. Each condition repeats that of an index word for word.
 */
export const isFirst = (row: string): string => `not exists (
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
  waiting_since timestamptz, replay jsonb, trace text, due_at timestamptz, visited_to text
)`;

/**
 * Adds the paused types to those that are not taken: an event that was stored while its pause began may not be held. Returns no event while
 * all types are paused.
 */
const leaveOutPaused = `paused := esim_webhooks.paused_types(moment);
  if '*' = any (paused) then
    return;
  end if;
  except_types := except_types || paused;`;

/**
 * Leases the rows at `places`: notes when each is first taken, and returns since when it was due. A row in a lane is not locked, and is
 * checked again: another worker may have handled it and freed its lane since it was selected, or it was erased and has lost its lane.
 * The check is a CASE: for the bare condition, the planner may read all of event_ready instead of the rows at the places.
 */
const lease = (isSuspect: string): string => `return query
    update esim_webhooks.event as taken
    set state = 'leased', fence = nextval('esim_webhooks.fence'), attempts = taken.attempts + 1, tries = taken.tries + 1,
      leased_until = moment + lease, taken_at = coalesce(taken.taken_at, moment)
    where taken.ctid = any (places)
      and case taken.state when 'ready' then taken.due_at <= moment and not taken.held and ${isSuspect} end
      and (taken.lane is null or ${isNotWorked("taken")})
    returning taken.source, taken.id, taken.fence, taken.type, taken.body, taken.received_at, taken.attempts, taken.tries,
      taken.waiting_since, taken.replay, taken.trace, taken.due_at, null::text;`;

/** The columns that a take reads of each event in a lane. */
const inLane = "ctid as place, source, id, lane, type, occurred_at, due_at, suspect, held";

/**
 * Ready and due → leased, the longest due first. Skips rows that other workers have locked.
 *
 * Takes only the first event of a lane by occurred_at, and none while another one is leased. Selecting and leasing are several
 * statements: the first may see a lane as free that was taken meanwhile. The lanes are locked between them, so the last one sees
 * every lease on them. Waiting at the unique index instead, while holding rows of other lanes, would cause deadlocks.
 *
 * It reads the first thousand or more of the due rows in lanes. Usually there are no others, or enough of these are next in their lanes.
 * Otherwise it visits the first events of a bounded number of lanes, by name, after the lane `after`. One more row, without a source, then
 * names the lane at which the visit has ended, empty at the end of the lanes, and has in `attempts` how many events the take found in lanes.
 * In that case, the order between lanes is not that of their due times. If `after` is null, the take leaves out all lanes.
 *
 * Rows are named by their places in the table, which saves a search of the primary key for each. A place stays valid until the last
 * statement: what the calling statement could see is not overwritten before that statement ends. Rows without a lane are locked by then;
 * the lock on a lane keeps other takes away from its rows. Each step reads only as much of the previous one as it needs.
 */
const leaseDue = plpgsql(
  `lease_due(most integer, lease interval, ${filters}, after text) returns ${leases}`,
  ["enable_hashjoin", "enable_mergejoin", ...inOrder],
  `
#variable_conflict use_column
declare
  reach constant integer := 1000 + 4 * most;
  most_lanes constant integer := 1000;
  looked_at integer;
  paused text[];
  places tid[];
  in_lanes tid[];
begin
  ${leaveOutPaused}
  with due as materialized (
    select ctid as place from esim_webhooks.event
    where state = 'ready' and not held and lane is null and due_at <= moment and not suspect
      and ${wanted}
    order by due_at
    limit most
    for update skip locked
  )
  select array_agg(place) into places from due;
  if after is not null then
    with near as materialized (
      select ${inLane} from esim_webhooks.event
      where state = 'ready' and not held and lane is not null and due_at <= moment
      order by due_at
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
    places := places || in_lanes;
    if looked_at = reach then
      attempts := coalesce(cardinality(in_lanes), 0);
      with recursive head as (
        (
          select ${inLane}, 1 as number from esim_webhooks.event
          where lane > after and lane is not null and state = 'ready'
          order by lane, occurred_at, source, id
          limit 1
        )
        union all
        select following.*, head.number + 1 from head cross join lateral (
          select ${inLane} from esim_webhooks.event
          where lane > head.lane and lane is not null and state = 'ready'
          order by lane, occurred_at, source, id
          limit 1
        ) as following
        where head.number < most_lanes
      ), due as materialized (
        select place, lane from head
        where due_at <= moment and not held and not suspect
          and ${wanted}
          and place <> all (coalesce(in_lanes, '{}'))
          and ${isFree("head")}
      ), own as materialized (
        select place, lane from due
        where ${ownLane}
        limit most
      )
      select array_agg(place), case
        when count(*) = most then max(lane)
        when (select count(*) from head) < most_lanes then ''
        else (select max(lane) from head) end
      into in_lanes, visited_to from own;
      attempts := attempts + coalesce(cardinality(in_lanes), 0);
      places := places || in_lanes;
      return next;
    end if;
  end if;
  if cardinality(places) > most then
    with oldest as materialized (
      select ctid as place from esim_webhooks.event where ctid = any (places) order by due_at limit most
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
  paused text[];
  places tid[];
begin
  ${leaveOutPaused}
  with due as materialized (
    select ctid as place, lane from esim_webhooks.event as waiting
    where state = 'ready' and not held and suspect and due_at <= moment
      and ${wanted}
      and (lane is null or ${isFirst("waiting")})
    order by due_at
    limit most
    for update of waiting skip locked
  )
  select array_agg(place) into places from due where lane is null or ${ownLane};
  ${lease("taken.suspect")}
end`,
);

/** The functions that take events. They are functions so that their settings keep the planner on the ordered indexes. */
export const takeFunctions: readonly string[] = [leaseDue, leaseSuspects];

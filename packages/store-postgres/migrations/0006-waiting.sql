-- Since when a handler has put the event off with retryLater. Null if it has not since the event was stored, redriven or run again. The
-- functions of 0004 return whole rows, so they need no change.
alter table esim_webhooks.event
  add column waiting_since timestamptz;

-- As in 0002, and with one more state of a settlement: 'waiting' is ready after its wait with the attempt refunded. Attempts that fail keep
-- the time since when the event has waited, and so does 'untouched'. The other states clear it, so a redrive need not.
create or replace function esim_webhooks.settle(
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

insert into esim_webhooks.migration (number) values (6);

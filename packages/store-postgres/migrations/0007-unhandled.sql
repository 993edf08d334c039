-- The state of an event without a handler. Its body is kept for the retention, it blocks no lane, and it can be redriven once
-- there is a handler.
alter table esim_webhooks.event
  drop constraint event_state_check,
  add constraint event_state_check check (state in ('ready', 'leased', 'done', 'unhandled', 'dead'));

drop index esim_webhooks.event_forgettable;

create index event_forgettable on esim_webhooks.event (ends_at) where state in ('done', 'unhandled');

create index event_unhandled on esim_webhooks.event (received_at) where state = 'unhandled';

-- The function of 0002, which also keeps unhandled events for the retention.
create or replace function esim_webhooks.settle(
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
      when 'unhandled' then moment + retention
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

insert into esim_webhooks.migration (number) values (7);

-- The id first: it tells rows apart at its first bytes, where the source is mostly the same. The upper pages of the index
-- then hold more keys, and an insert at a random place in a large table costs less.
alter table esim_webhooks.event
  drop constraint event_pkey,
  add primary key (id, source);

insert into esim_webhooks.migration (number) values (5);

-- Columns for imports. The functions of 0002 return whole rows, so they need no change.
alter table esim_webhooks.event
  -- null for an event that came as a delivery
  add column replay jsonb,
  -- the imports that made the event ready before the one in replay
  add column runs text[];

insert into esim_webhooks.migration (number) values (3);

-- What an import brought, and what it ran again. The functions of 0002 return whole rows, whatever columns they have.
alter table esim_webhooks.event
  -- null for what came in as a delivery
  add column replay jsonb,
  -- the imports that had made the event ready before the one in replay
  add column runs text[];

insert into esim_webhooks.migration (number) values (3);

-- Since when a handler has put the event off with retryLater, in ms. Null if it has not since the event was stored, redriven or run again.
alter table esim_webhooks_event add column waiting_since integer;

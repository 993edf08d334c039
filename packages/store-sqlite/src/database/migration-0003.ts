/** As for the first migration. */
export const id = "5d0c9a9fb4ef870a";

export const oldest = 1;

export const text: string = `\
-- What operators look for: the latest events, and those of one eSIM.

create index esim_webhooks_event_received on esim_webhooks_event (received_at);

create index esim_webhooks_event_subject on esim_webhooks_event (subject)
  where subject is not null;
`;

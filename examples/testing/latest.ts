import type { EsimData, EsimEvents, Handlers, WebhookEvent } from "@esim-webhooks/core";
import { latestOnly, type SqliteTransaction } from "@esim-webhooks/store-sqlite";

/** Keeps what became of each profile on its device, in any order of arrival. */
const profile = latestOnly<WebhookEvent<string, EsimData>>({ state: "profile" }, ({ type, data }, { tx }) =>
  tx.write({
    sql: "insert into profile values (?, ?) on conflict (esim) do update set status = excluded.status",
    parameters: [data.esimReference, type], // such as "esim.enabled"
  }),
);

export const handlers: Handlers<EsimEvents, SqliteTransaction> = {
  "esim.downloaded": profile,
  "esim.installed": profile,
  "esim.enabled": profile,
  "esim.disabled": profile,
  "esim.deleted": profile,
  "esim.lifecycle.*": latestOnly({ state: "lifecycle" }, (event, { tx }) => {
    switch (event.type) {
      case "esim.lifecycle.suspended":
      case "esim.lifecycle.activated":
      case "esim.lifecycle.terminated": // in here, the type of data is known
        tx.write({
          sql: "insert into line values (?, ?) on conflict (esim) do update set status = excluded.status",
          parameters: [event.data.esimReference, event.data.lifecycleStatus],
        });
    }
  }),
};

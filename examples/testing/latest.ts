import type { EsimEvents, Handlers } from "@esim-webhooks/core";
import { latestOnly, type SqliteTransaction } from "@esim-webhooks/store-sqlite";

/** Keeps the present status of each line, in any order of arrival. */
export const handlers: Handlers<EsimEvents, SqliteTransaction> = {
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

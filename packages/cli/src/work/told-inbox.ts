import type { Catalog, Inbox, InboxLease, Logger, Settlement, TakenEvent } from "@esim-webhooks/core";

const mostRemembered = 10_000;

/** The same inbox, which tells the logger what becomes of each event that is taken from it. */
export function toldInbox(inbox: Inbox, catalog: Catalog<unknown>, logger: Logger): Inbox {
  const taken = new Map<string, Fields>();

  function remember(event: TakenEvent): void {
    const { id, source, token, body, attempt } = event;
    const { type } = catalog.parse(id, body);
    taken.set(token, { source, id, ...(type !== null && { type }), attempt });
    for (const oldest of taken.keys()) {
      if (taken.size <= mostRemembered) break;
      taken.delete(oldest); // its lease was lost, and nobody settled it
    }
  }

  function tell(lease: InboxLease, ending: Ending): void {
    const { source, id, token } = lease;
    const fields = { ...(taken.get(token) ?? { source, id }), ...ending };
    taken.delete(token);
    logger[ending.outcome === "dead" ? "error" : ending.outcome === "done" ? "info" : "warn"](
      fields,
      "event",
    );
  }

  const own: Pick<Inbox, "take" | "settle" | "transact"> = {
    async take(options) {
      const events = await inbox.take(options);
      events.forEach(remember);
      return events;
    },
    async settle(settlements) {
      const held = await inbox.settle(settlements);
      for (const [index, settlement] of settlements.entries()) {
        if (held[index]) tell(settlement, endingOf(settlement));
      }
      return held;
    },
    ...(inbox.transact && {
      async transact(lease, work) {
        const transacted = await inbox.transact?.(lease, work);
        if (transacted === "committed") tell(lease, { outcome: "done" });
        return transacted ?? "unused";
      },
    }),
  };
  return new Proxy(inbox, {
    get(target, name) {
      const value: unknown = Reflect.get(name in own ? own : target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

type Fields = Readonly<Record<string, unknown>>;

interface Ending {
  readonly outcome: "done" | "retry" | "given_back" | "dead";
  readonly afterMs?: number;
}

/** Why is in the inbox, not here: a handler's message may name a person. */
function endingOf(settlement: Settlement): Ending {
  switch (settlement.state) {
    case "done":
      return { outcome: "done" };
    case "ready":
      return { outcome: "retry", afterMs: settlement.afterMs };
    case "untouched":
      return { outcome: "given_back" };
    case "dead":
      return { outcome: "dead" };
  }
}

import type { Database } from "../base/database.ts";

/** A view of the page. Each is a path of the control side. */
export type View = "esims" | "endpoints" | "deliveries" | "state";

export const views: readonly View[] = ["esims", "endpoints", "deliveries", "state"];

/** Reports which views have changed. */
export interface Changes {
  report(view: View): void;
  /** Returns a function that unsubscribes. */
  listen(listener: (view: View) => void): () => void;
}

const viewsOf: Readonly<Record<string, readonly View[]>> = {
  clients: ["state"],
  variants: ["state"],
  profiles: ["esims"],
  esims: ["esims"],
  packages: ["esims"],
  portIns: ["esims"],
  numbers: ["esims"],
  endpoints: ["endpoints", "deliveries"], // a deleted endpoint takes its deliveries with it
  deliveries: ["deliveries"],
};

export function createChanges(): Changes {
  const listeners = new Set<(view: View) => void>();
  return {
    report(view) {
      for (const listener of listeners) listener(view);
    },
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** The same database, which reports what its statements write, also in a transaction that is rolled back. */
export function reportingDatabase(db: Database, changes: Changes): Database {
  const written = new Map<string, readonly View[]>();
  function reportWrites(sql: string): void {
    let changed = written.get(sql);
    if (changed === undefined) {
      const [, table = ""] = /^\s*(?:insert(?: or \w+)? into|update|delete from) (\w+)/i.exec(sql) ?? [];
      changed = viewsOf[table] ?? [];
      written.set(sql, changed);
    }
    for (const view of changed) changes.report(view);
  }
  return {
    get(sql, ...values) {
      reportWrites(sql); // it may have a "returning"
      return db.get(sql, ...values);
    },
    all(sql, ...values) {
      reportWrites(sql);
      return db.all(sql, ...values);
    },
    run(sql, ...values) {
      reportWrites(sql);
      return db.run(sql, ...values);
    },
    transaction: (work) => db.transaction(work),
    close: () => db.close(),
  };
}

const pauseMs = 100; // a flood of deliveries becomes ten messages a second

/**
 * Server-Sent Events that say which views have changed: `event: changed`, `data: {"views":["deliveries"]}`. The first event is sent
 * immediately and names all views.
 */
export function liveFeed(changes: Changes): Response {
  let end = () => {};
  const feed = new ReadableStream<Uint8Array>({
    start(controller) {
      const changed = new Set<View>(views);
      let timer: NodeJS.Timeout | undefined;
      function send(): void {
        timer = undefined;
        controller.enqueue(
          Buffer.from(`event: changed\ndata: ${JSON.stringify({ views: [...changed] })}\n\n`),
        );
        changed.clear();
      }
      send();
      const unsubscribe = changes.listen((view) => {
        changed.add(view);
        timer ??= setTimeout(send, pauseMs);
      });
      end = () => {
        unsubscribe();
        clearTimeout(timer);
      };
    },
    cancel: () => end(),
  });
  return new Response(feed, {
    headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
  });
}

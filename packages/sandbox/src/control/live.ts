import { type Changes, type View, views } from "./changes.ts";

const pauseMs = 100; // a flood of deliveries becomes ten messages a second

/**
 * Server-Sent Events that say which views have changed: `event: changed`, `data: {"views":["deliveries"]}`. The first one, at
 * once, names all.
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

// as `npx wrangler types` writes it
declare namespace Cloudflare {
  interface Env {
    DEDUPE: DurableObjectNamespace<import("./queue.ts").DedupeObject>;
    EVENTS: Queue;
  }
}

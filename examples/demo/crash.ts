import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createWorker, type EsimEvents, type Handlers } from "@esim-webhooks/core";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";

/** A process that stores deliveries in a file until it crashes. */
export interface Accepting {
  readonly url: string;
  receiveWith(secret: string): Promise<void>;
  /** SIGKILL. */
  crash(): Promise<void>;
  /** Opens the inbox in this process, and resolves when the event in it is done. */
  processEvent(handlers: Handlers<EsimEvents>): Promise<void>;
}

export async function startAccepting(): Promise<Accepting> {
  const folder = await mkdtemp(join(tmpdir(), "esim-webhooks-demo-"));
  const path = join(folder, "events.db");
  const file = join(import.meta.dirname, "accept.ts");
  const child = spawn(process.execPath, ["--conditions=@esim-webhooks/source", file, path], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout, "data");
  return {
    url: String(line).trim(),
    async receiveWith(secret) {
      child.stdin.write(`${secret}\n`);
      await once(child.stdout, "data");
    },
    async crash() {
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
    },
    async processEvent(handlers) {
      const inbox = sqliteInbox({ path });
      const processed = new AbortController();
      const running = createWorker(inbox, handlers).run({ signal: processed.signal });
      while ((await inbox.stats()).states.done === 0) await pause(20);
      processed.abort();
      await running;
      await inbox.close();
      await rm(folder, { recursive: true });
    },
  };
}

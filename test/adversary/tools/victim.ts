import { onTestFinished } from "vitest";
import { runNode } from "../../run.ts";
import type { Transport } from "../../transports.ts";
import { secret } from "./deliveries.ts";
import type { Freezable } from "./freeze.ts";

/** A victim's report about itself. */
export interface VictimReport {
  /** How many events its handler was given. */
  readonly handled: number;
  /** Its log lines, counted by their outcome. */
  readonly logged: Readonly<Record<string, number>>;
}

/** A receiver in a process of its own, so that its event loop is not that of the attacker. */
export interface Victim extends Freezable {
  readonly url: string;
  report(): Promise<VictimReport>;
  /** Closes the receiver and its server. Resolves to the exit code. */
  close(): Promise<number | null>;
}

/** Starts a receiver, whose `options` are those of a receiver that JSON can carry. It ends with the test. */
export async function startVictim(transport: Transport, options: object = {}): Promise<Victim> {
  const victim = runNode(["test/adversary/tools/victim-process.ts"], {
    TRANSPORT: transport,
    OPTIONS: JSON.stringify({ secret, ...options }),
  });
  onTestFinished(() => void victim.child.kill("SIGKILL"));
  const [, url = ""] = await victim.line(/^listening (.*)$/);
  let reports = 0;
  return {
    url,
    async report() {
      victim.child.kill("SIGUSR2");
      const [, report = ""] = await victim.line(new RegExp(`^report ${++reports} (.*)$`));
      return JSON.parse(report) as VictimReport;
    },
    async pause() {
      victim.child.kill("SIGSTOP");
    },
    async resume() {
      victim.child.kill("SIGCONT");
    },
    async close() {
      victim.child.kill("SIGTERM");
      return (await victim.ended).code;
    },
  };
}

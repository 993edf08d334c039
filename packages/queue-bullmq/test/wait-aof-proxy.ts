import { startProxy } from "../../../test/servers/index.ts";

/** A proxy that adds WAITAOF to a Redis before 7.2, for machines without a newer one. */
export interface WaitAofProxy {
  readonly url: string;
  /** What it does with the next WAITAOFs; after the last of them, it answers that the file is on disk. */
  will(...next: ("time out" | "end the connection")[]): void;
  close(): Promise<void>;
}

const waitAof = /\*4\r\n\$7\r\nWAITAOF\r\n\$1\r\n1\r\n\$1\r\n0\r\n\$\d+\r\n\d+\r\n/i;

/** The command in place of a WAITAOF. Its answer, as Redis documents it: how many local files and replicas have synced. */
function answering(local: 0 | 1): string {
  const script = `return {${local},0}`;
  return `*3\r\n$4\r\nEVAL\r\n$${script.length}\r\n${script}\r\n$1\r\n0\r\n`;
}

export async function waitAofProxy(redisUrl: string): Promise<WaitAofProxy> {
  const plans: string[] = [];
  const { url, close } = await startProxy(
    { url: redisUrl },
    {
      request(bytes) {
        const text = bytes.toString("latin1"); // ioredis sends a short command in one write
        const plan = waitAof.test(text) ? plans.shift() : undefined;
        if (plan === "end the connection") return "cut";
        return Buffer.from(text.replace(waitAof, answering(plan === "time out" ? 0 : 1)), "latin1");
      },
      answer: (bytes) =>
        Buffer.from(bytes.toString("latin1").replace(/redis_version:\d\.\d/, "redis_version:7.2"), "latin1"),
    },
  );
  return { url, will: (...next) => void plans.push(...next), close };
}

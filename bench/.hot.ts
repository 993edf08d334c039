import { createKeyring, createReceiver, esimCatalog, sign, verify } from "@esim-webhooks/core";
import { newSecret, sampleData } from "@esim-webhooks/core/testing";
const secret = newSecret();
const keyring = createKeyring(secret);
let made = 0;
const nextId = () => Buffer.from(`msg_${String(made++).padStart(24, "0")}`).toString("latin1");
const [key] = keyring.keysAt(Date.now());
const bodyOf = (detail: string) => JSON.stringify({ type: "esim.faulted", timestamp: "2026-11-20T12:00:00Z", data: { ...sampleData("esim.faulted"), detail } });
const text = bodyOf("x".repeat(Math.max(0, 300 - bodyOf("").length)));
const make = (n: number) => Array.from({ length: n }, () => { const body = Buffer.from(text); return { method: "POST", headers: { ...sign({ id: nextId(), body }, key!) }, body }; });
const cpu = async (n: number, f: () => any) => { (globalThis as any).gc(); const b = process.threadCpuUsage(); await f(); const { user, system } = process.threadCpuUsage(b); return (user + system) / n; };
const N = 10000;
const res: Record<string, number[]> = { floor: [], first: [], waiting: [] };
const which = process.argv[2] ?? "all";
for (let r = 0; r < Number(process.argv[3] ?? 15); r++) {
  const d = make(N);
  if (which !== "waiting" && which !== "first") res.floor!.push(await cpu(N, () => { for (const { headers, body } of d) { const p = verify({ headers, body }, keyring); if (!p.ok || esimCatalog.parse(p.id, body).kind !== "known") throw 1; } }));
  if (which !== "waiting") { const rec = createReceiver({ "*": () => {} }, { secret }); res.first!.push(await cpu(N, async () => { for (const x of d) { const { outcome } = await rec.receive(x as any); if (outcome.code !== "processed") throw 1; } })); }
  if (which !== "first") { const w = createReceiver({ "*": async () => {} }, { secret }); res.waiting!.push(await cpu(N, async () => { for (const x of d) { const { outcome } = await w.receive(x as any); if (outcome.code !== "processed") throw 1; } })); }
}
const min = (a: number[]) => Math.min(...a), med = (a: number[]) => a.toSorted((x, y) => x - y)[a.length >> 1]!;
if (which === "all") console.log(`floor ${min(res.floor!).toFixed(2)} first ${(min(res.first!) / min(res.floor!)).toFixed(2)} (med ${(med(res.first!) / med(res.floor!)).toFixed(2)}) waiting ${(min(res.waiting!) / min(res.floor!)).toFixed(2)} (med ${(med(res.waiting!) / med(res.floor!)).toFixed(2)})`);

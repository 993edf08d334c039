/** What one call of a traced process did to a file, or that it wrote to standard output. */
export type DiskEvent =
  | { readonly kind: "write"; readonly file: string; readonly offset: number; readonly data: Buffer }
  | { readonly kind: "truncate"; readonly file: string; readonly size: number }
  | { readonly kind: "remove"; readonly file: string }
  | { readonly kind: "sync_begun" | "synced"; readonly file: string; readonly thread: string }
  | { readonly kind: "output"; readonly text: string };

/** The arguments of strace that make a trace which `readTrace` can read. */
export const straceArguments: readonly string[] = [
  ...["-f", "-y", "-xx", "-s", "1000000", "--seccomp-bpf"],
  ...["-e", "trace=pwrite64,write,fsync,fdatasync,ftruncate,unlink"],
];

/** The calls in a trace of strace, in the order in which they ended; of a sync also when it began. */
export function* readTrace(trace: Buffer): Generator<DiskEvent> {
  const begun = new Map<string, string>();
  for (const line of linesOf(trace)) {
    const [, thread = "", text = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(text);
    const unfinished = /^(.*?) *<unfinished \.\.\.>$/.exec(text);
    const call = resumed ? `${begun.get(thread)}${resumed[1]}` : (unfinished?.[1] ?? text);
    if (!resumed) yield* syncBegun(thread, call);
    if (unfinished) begun.set(thread, call);
    else yield* ended(thread, call);
  }
}

/** A trace may be longer than a string can be. */
function* linesOf(trace: Buffer): Generator<string> {
  for (let begin = 0; begin < trace.length; ) {
    const end = trace.indexOf("\n", begin);
    yield trace.toString("utf8", begin, end === -1 ? trace.length : end);
    begin = end === -1 ? trace.length : end + 1;
  }
}

const syncPattern = /^f(?:data)?sync\(\d+<(.*?)>/;

function* syncBegun(thread: string, call: string): Generator<DiskEvent> {
  const [, file] = syncPattern.exec(call) ?? [];
  if (file !== undefined) yield { kind: "sync_begun", file: unescaped(file), thread };
}

function* ended(thread: string, call: string): Generator<DiskEvent> {
  if (/= -1 /.test(call)) return;
  const [, synced] = syncPattern.exec(call) ?? [];
  if (synced !== undefined) yield { kind: "synced", file: unescaped(synced), thread };
  const [, written, data = "", offset] = /^pwrite64\(\d+<(.*?)>, "(.*?)", \d+, (\d+)\)/.exec(call) ?? [];
  if (written !== undefined)
    yield { kind: "write", file: unescaped(written), offset: Number(offset), data: bytesOf(data) };
  const [, truncated, size] = /^ftruncate\(\d+<(.*?)>, (\d+)\)/.exec(call) ?? [];
  if (truncated !== undefined) yield { kind: "truncate", file: unescaped(truncated), size: Number(size) };
  const [, removed] = /^unlink\("(.*?)"\)/.exec(call) ?? [];
  if (removed !== undefined) yield { kind: "remove", file: unescaped(removed) };
  const [, output] = /^write\(1<.*?>, "(.*?)"/.exec(call) ?? [];
  if (output !== undefined) yield { kind: "output", text: bytesOf(output).toString() };
}

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.replaceAll("\\x", ""), "hex");
}

/** Names come as text or, by `-xx`, as bytes. */
function unescaped(name: string): string {
  return name.startsWith("\\x") ? bytesOf(name).toString() : name;
}

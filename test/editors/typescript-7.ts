import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../run.ts";
import { atCursors, type OpenEditor } from "./editor.ts";

/** The part of the Language Server Protocol's messages that is read here. */
interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

const errorSeverity = 1;

/** TypeScript 7, which is a language server. */
export const openTypeScript7: OpenEditor = async (folder) => {
  const command = [join(root, "node_modules/typescript/bin/tsc"), "--lsp", "--stdio"];
  const server = spawn(process.execPath, command, { stdio: ["pipe", "pipe", "ignore"] });
  const ended = once(server, "close");
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  const uri = pathToFileURL(join(folder, "user.ts")).href;
  let lastId = 0;
  let version = 0;

  function send(message: object): void {
    const json = JSON.stringify({ jsonrpc: "2.0", ...message });
    server.stdin.write(`Content-Length: ${Buffer.byteLength(json)}\r\n\r\n${json}`);
  }

  function ask(method: string, params: object): Promise<unknown> {
    const answer = Promise.withResolvers<unknown>();
    lastId += 1;
    waiting.set(lastId, answer);
    send({ id: lastId, method, params });
    return answer.promise;
  }

  function onMessage({ id, method, result, error }: Message): void {
    if (id === undefined) return; // says something
    const answer = waiting.get(id);
    if (method !== undefined)
      send({ id, result: null }); // asks something, such as for settings
    else if (error === undefined) answer?.resolve(result);
    else answer?.reject(new Error(error.message));
  }

  let unread = Buffer.alloc(0);
  server.stdout.on("data", (chunk: Buffer) => {
    unread = Buffer.concat([unread, chunk]);
    for (;;) {
      const start = unread.indexOf("\r\n\r\n") + 4;
      const [, length] = /Content-Length: (\d+)/.exec(unread.subarray(0, start).toString()) ?? [];
      const end = start + Number(length);
      if (length === undefined || unread.length < end) return;
      const json = unread.subarray(start, end).toString();
      unread = unread.subarray(end);
      onMessage(JSON.parse(json));
    }
  });
  void ended.then(([code]) => {
    for (const { reject } of waiting.values()) reject(new Error(`The language server ended with ${code}.`));
  });

  function show(text: string): void {
    version += 1;
    const textDocument = { uri, version };
    const opened = { textDocument: { ...textDocument, languageId: "typescript", text } };
    if (version === 1) send({ method: "textDocument/didOpen", params: opened });
    else send({ method: "textDocument/didChange", params: { textDocument, contentChanges: [{ text }] } });
  }

  /** Shows the source without its cursors, and asks at each of them. */
  function askAtCursors(method: string, source: string): Promise<unknown[]> {
    const { text, positions } = atCursors(source);
    show(text);
    return Promise.all(
      positions.map((position) => {
        const lines = text.slice(0, position).split("\n");
        const place = { line: lines.length - 1, character: lines.at(-1)?.length };
        return ask(method, { textDocument: { uri }, position: place });
      }),
    );
  }

  await ask("initialize", { processId: process.pid, rootUri: pathToFileURL(folder).href, capabilities: {} });
  send({ method: "initialized", params: {} });
  return {
    async complete(source) {
      const [offered] = await askAtCursors("textDocument/completion", source);
      const { items } = (offered ?? { items: [] }) as { items: { label: string; insertText?: string }[] };
      return items.map(({ label, insertText }) => insertText ?? label);
    },
    async describe(source) {
      const answers = (await askAtCursors("textDocument/hover", source)) as ({
        contents: { value: string };
      } | null)[];
      return answers.map((answer) => answer?.contents.value ?? "");
    },
    async problems(source) {
      show(source);
      const answer = await ask("textDocument/diagnostic", { textDocument: { uri } });
      const { items } = answer as { items: { message: string; severity: number }[] };
      return items.filter(({ severity }) => severity === errorSeverity).map(({ message }) => message);
    },
    async close() {
      server.kill();
      await ended;
    },
  };
};

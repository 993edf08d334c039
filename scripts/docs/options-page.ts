import { type FunctionWithOptions, type Member, packageExports } from "./read-types.ts";

const everyReceiver = "every receiver";
const nestModule = "`EsimWebhooksModule.forRoot`";
const isAdapter = (label: string) => ["`webhookRouter`", "`webhookPlugin`", nestModule].includes(label);

/** Packages whose options come first, and what is for authors of stores, which comes last. */
const first = ["core", "express", "fastify", "store-sqlite", "store-redis", "store-postgres", "queue-bullmq"];
const last = [
  "@esim-webhooks/core/engine",
  "@esim-webhooks/core/internal",
  "@esim-webhooks/core/log-lines",
  "@esim-webhooks/conformance",
];

/** Options of methods: a label, and the exported interface. */
const methods = [
  [nestModule, "@esim-webhooks/nest", "EsimWebhooksOptions"],
  ["`processor.process`", "@esim-webhooks/core", "Provenance"],
  ["`bullmqInbox(…).createWorker`", "@esim-webhooks/queue-bullmq", "QueueWorkerOptions"],
  ["calls that change something", "@esim-webhooks/client", "ChangeOptions"],
  ["lists", "@esim-webhooks/client", "ListOptions"],
] as const;

/** An option, as its doc comment describes it. */
export interface OptionDoc {
  readonly name: string;
  /** The functions that take it. */
  readonly of: readonly string[];
  readonly default: string;
  readonly meaning: string;
}

/** Reads the options of every exported function. Options with the same description are one. */
export function readOptions(): readonly OptionDoc[] {
  const options = new Map<string, OptionDoc & { of: string[] }>();
  for (const [label, members] of labelledOptions()) {
    for (const { name, optional, doc } of members) {
      const found = options.get(`${name}: ${doc}`);
      if (found === undefined)
        options.set(`${name}: ${doc}`, { name, of: [label], ...readDoc(doc, optional) });
      else if (!found.of.includes(label) && !(isAdapter(label) && found.of.includes(everyReceiver)))
        found.of.push(label);
    }
  }
  return [...options.values()];
}

function labelledOptions(): readonly (readonly [label: string, options: readonly Member[]])[] {
  const { membersOf, functionsWithOptions } = packageExports();
  const functions = functionsWithOptions().toSorted((one, other) => rank(one) - rank(other));
  const isShared = ({ module, name }: FunctionWithOptions) =>
    functions.some((it) => it.name === name && packageOf(it.module) !== packageOf(module));
  return [
    ...functions.map((it) => [isShared(it) ? inPackage(it) : labelOf(it), it.options] as const),
    ...methods.map(([label, module, type]) => [label, membersOf(module, type)] as const),
  ];
}

export function labelOf({ name, type }: Pick<FunctionWithOptions, "name" | "type">): string {
  return type === "ReceiverOptions" ? everyReceiver : `\`${name}\``;
}

const inPackage = ({ module, name }: FunctionWithOptions): string => `\`${name}\` (${packageOf(module)})`;

const packageOf = (module: string): string => module.split("/")[1] ?? "";

function rank({ module, type }: FunctionWithOptions): number {
  if (type === "ReceiverOptions") return -1;
  if (last.includes(module)) return first.length + 1;
  const place = first.indexOf(packageOf(module));
  return place === -1 ? first.length : place;
}

function readDoc(doc: string, optional: boolean): Pick<OptionDoc, "default" | "meaning"> {
  const text = doc.replaceAll(/\s+/g, " ");
  const [sentence = "", value = optional ? "none" : "required"] =
    /(?:^|(?<=\. ))Default:? (.*?)\.(?= |$) ?/.exec(text) ?? [];
  return { default: value, meaning: text.replace(sentence, "").trim() };
}

/** docs/options.md: what is above the marker stays; below it, a line for each function has its options and their defaults. */
export function optionsPage(page: string, options: readonly OptionDoc[]): string {
  const byFunction = new Map<string, string[]>();
  for (const option of options) {
    const text = `\`${option.name}\`${option.default === "none" ? "" : ` (${option.default})`}`;
    for (const label of option.of) byFunction.set(label, [...(byFunction.get(label) ?? []), text]);
  }
  const rows = [...Map.groupBy(byFunction, ([, texts]) => texts.join(", "))].map(
    ([texts, functions]) => `| ${functions.map(([label]) => label).join(", ")} | ${texts} |`,
  );
  return `${page.slice(0, page.indexOf(marker))}${marker}

| function | options, with their defaults |
|---|---|
${rows.join("\n")}
`;
}

const marker = "<!-- Made by npm run docs from the doc comments of the options: edit those. -->";

import type { ComponentChildren } from "preact";

type Node =
  | { readonly kind: "object" | "array"; readonly entries: readonly (readonly [string | null, Node])[] }
  | { readonly kind: "text" | "number" | "word"; readonly source: string };

const tokens = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g;

/** Reads JSON without JavaScript's numbers and objects: digits, the order of keys and keys that occur twice stay as they were signed. */
function read(text: string): Node {
  const all = text.match(tokens) ?? [];
  let at = 0;
  return value();

  function value(): Node {
    const source = all[at++] ?? "";
    if (source === "{" || source === "[") return group(source === "{" ? "object" : "array");
    return { kind: source.startsWith('"') ? "text" : /^[-\d]/.test(source) ? "number" : "word", source };
  }

  function group(kind: "object" | "array"): Node {
    const entries: [string | null, Node][] = [];
    while (at < all.length && all[at] !== "}" && all[at] !== "]") {
      const key = kind === "object" ? (all[at++] ?? "") : null;
      if (key !== null) at++;
      entries.push([key, value()]);
      if (all[at] === ",") at++;
    }
    at++;
    return { kind, entries };
  }
}

/** The text of JSON as a tree that collapses. All of it is text nodes. */
export function JsonTree({ text }: { readonly text: string }) {
  return (
    <div class="json">
      <Branch name={null} node={read(text)} depth={0} />
    </div>
  );
}

function Branch({
  name,
  node,
  depth,
}: {
  readonly name: string | null;
  readonly node: Node;
  readonly depth: number;
}) {
  const key: ComponentChildren = name === null ? null : <span class="json-key">{name}: </span>;
  if ("source" in node)
    return (
      <div class="json-leaf">
        {key}
        <span class={`json-${node.kind}`}>{node.source}</span>
      </div>
    );
  const [open, close] = node.kind === "object" ? ["{", "}"] : ["[", "]"];
  const size = node.entries.length;
  if (size === 0)
    return (
      <div class="json-leaf">
        {key}
        {open + close}
      </div>
    );
  return (
    <details open={depth < 3 && size <= 100}>
      <summary>
        {key}
        {open}
        <span class="json-size">
          {size} {node.kind === "object" ? (size === 1 ? "field" : "fields") : size === 1 ? "item" : "items"}
        </span>
      </summary>
      <div class="json-inner">
        {node.entries.map(([entry, inner]) => (
          <Branch name={entry} node={inner} depth={depth + 1} />
        ))}
      </div>
      <div class="json-close">{close}</div>
    </details>
  );
}

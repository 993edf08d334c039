import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";

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
  const node = useMemo(() => read(text), [text]);
  return (
    <div class="json">
      <Branch name={null} node={node} depth={0} />
    </div>
  );
}

/** How many entries are shown at once. */
const pageSize = 100;

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
  const isOpen = useSignal(depth < 3 && (!("entries" in node) || node.entries.length <= pageSize));
  const shown = useSignal(pageSize);
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
    <details
      open={isOpen.value}
      onToggle={({ currentTarget }) => {
        isOpen.value = currentTarget.open;
      }}
    >
      <summary>
        {key}
        {open}
        <span class="json-size">
          {size} {node.kind === "object" ? (size === 1 ? "field" : "fields") : size === 1 ? "item" : "items"}
        </span>
      </summary>
      {isOpen.value && (
        <div class="json-inner">
          {node.entries.slice(0, shown.value).map(([entry, inner], index) => (
            <Branch key={index} name={entry} node={inner} depth={depth + 1} />
          ))}
          {size > shown.value && (
            <button
              type="button"
              class="button small"
              onClick={() => {
                shown.value += pageSize;
              }}
            >
              Show {Math.min(pageSize, size - shown.value)} more
            </button>
          )}
        </div>
      )}
      <div class="json-close">{close}</div>
    </details>
  );
}

/** The part of Babel's paths that is used here. */
interface NodePath {
  readonly node: {
    readonly type: string;
    readonly value?: unknown;
    readonly quasis?: readonly { readonly value: { readonly raw: string } }[];
  };
}

/** Leaves out texts of three words or more: those of errors and logs, which only people read. */
export const strykerPlugins = [
  {
    kind: "Ignore",
    name: "sentences",
    value: {
      shouldIgnore({ node: { type, value, quasis = [] } }: NodePath): string | undefined {
        const text =
          type === "StringLiteral" ? String(value) : quasis.map(({ value }) => value.raw).join("…");
        return text.trim().split(" ").length > 2 ? "a sentence for people" : undefined;
      },
    },
  },
];

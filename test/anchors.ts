/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsIn(page: string): string[] {
  const headings = page.replaceAll(/```[\s\S]*?```/g, "").matchAll(/^#+ (.*)$/gm);
  return Array.from(headings, ([, text = ""]) =>
    text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

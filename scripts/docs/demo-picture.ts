const [width, lineHeight, margin] = [8.4, 19, 20]; // of a character of 14 px, in px

/** Draws the output of `npm run demo` as an SVG picture of a terminal. */
export function demoPicture(output: string): string {
  const lines = `$ npm run demo\n${output.trimEnd()}`.split("\n");
  const columns = Math.max(...lines.map((line) => line.length));
  const [right, bottom] = [Math.ceil(columns * width) + 2 * margin, lines.length * lineHeight + 2 * margin];
  const texts = lines.map((line, index) => {
    const y = margin + (index + 1) * lineHeight - 5;
    const parts = escaped(line)
      .replaceAll("✓", '<tspan class="ok">✓</tspan>')
      .replace(/^(what happened|\$).*|^ledger$/, '<tspan class="dim">$&</tspan>');
    return `<text x="${margin}" y="${y}">${parts}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${right} ${bottom}" role="img">
<title>What npm run demo prints: each trouble with its status, outcome and handler runs, and a ledger that balances</title>
<style>
rect { fill: #f6f8fa } text { fill: #1f2328; font: 14px ui-monospace, Menlo, Consolas, monospace; white-space: pre }
.ok { fill: #1a7f37 } .dim { fill: #59636e }
@media (prefers-color-scheme: dark) {
rect { fill: #161b22 } text { fill: #e6edf3 } .ok { fill: #3fb950 } .dim { fill: #9198a1 }
}
</style>
<rect width="${right}" height="${bottom}" rx="8"/>
${texts.join("\n")}
</svg>
`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

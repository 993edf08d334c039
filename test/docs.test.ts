import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Outcome, OutcomeCode } from "@esim-webhooks/core";
import { describe, expect, it } from "vitest";
import { pageOf, pageUrl, repositoryUrl } from "../packages/core/src/base/pages.ts";
import { replyTo } from "../packages/core/src/receive/reply.ts";
import { claimsPage, readClaims } from "../scripts/docs/claims-page.ts";
import { packedReadme } from "../scripts/release/packed-readme.ts";
import { sections, pages as sitePages } from "../site/pages.ts";
import { redirects } from "../site/redirects.ts";
import { anchorsIn } from "./anchors.ts";
import { root } from "./run.ts";

const read = (file: string) => readFileSync(join(root, file), "utf8");
const pages = globSync("{*.md,docs/**/*.md,bench/*.md,site/*.md,packages/*/README.md}", { cwd: root });

/** Code of a page or an example that orders a replacement after a fault. */
const ordering = [
  ...[...pages, "packages/core/skills/esim-webhooks/SKILL.md"].flatMap(
    (page) => read(page).match(/```ts[\s\S]*?```/g) ?? [],
  ),
  ...globSync("examples/**/*.{ts,mts}", { cwd: root }).map(read),
].filter((code) =>
  /(?:"esim\.faulted":|@OnEsimEvent\("esim\.faulted"\))[\s\S]*?(\bre-?order|replac|[Oo]rders?\b)/.test(code),
);

const claims = readClaims();

/** A page's text on one line, without bold, with the texts of links in place of the links. */
const plainText = (page: string) =>
  page.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/\s+|\*\*/g, (it) => (it === "**" ? "" : " "));

describe("README.md", () => {
  const readme = read("README.md");

  it("has at most 110 lines", () => {
    expect(readme.split("\n").length).toBeLessThanOrEqual(111);
  });

  it("has no code but what is cut from examples", () => {
    expect(readme.match(/```ts/g)?.length).toBe(readme.match(/<!-- from /g)?.length);
  });

  it("names npm scripts that there are", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    const named = pages.flatMap((page) => [
      ...read(page).matchAll(/npm (?:run (?:-s )?)?(start|test|(?<=run (?:-s )?)(?!-s )[\w-]+)/g),
    ]);
    for (const [, script = ""] of named) expect(scripts).toHaveProperty(script);
  });
});

describe("bench/README.md", () => {
  it("has at most 150 lines", () => {
    expect(read("bench/README.md").split("\n").length).toBeLessThanOrEqual(151);
  });
});

describe("examples", () => {
  it("that listen name a port that is taken, and what to set", () => {
    const listening = globSync("examples/**/*.ts", {
      cwd: root,
      exclude: ["**/node_modules", "**/*.test.ts"],
    }).filter((file) => /\.listen\(|^(?:const \w+ = )?serve\(/m.test(read(file)));
    const without = listening.filter((file) => !/ cannot listen: .*\n *process\.exit\(1\);/.test(read(file)));
    expect(listening.length).toBeGreaterThan(20);
    // the demo has ports of its own, and this backend rejects for its caller
    expect(without.filter((file) => !/^examples\/(?:demo\/|sandbox\/backend\.ts)/.test(file))).toEqual([]);
  });
});

describe("docs", () => {
  it("names @types/node where it names TypeScript to install, and in the skill", () => {
    const naming = pages.filter((page) => /^npm install .*\btypescript\b/m.test(read(page)));
    expect(naming).toContain("packages/cloudflare/README.md");
    for (const page of [...naming, "packages/core/skills/esim-webhooks/SKILL.md"])
      expect(read(page), page).toContain("@types/node");
  });

  it("names in its design pages only files that exist", () => {
    const files = new Set(
      globSync("{packages/*/{src,test},test,lab,scripts,bench/*,examples/*}/**/*.ts", { cwd: root }).map(
        (file) => basename(file),
      ),
    );
    const missing = globSync("docs/design{.md,/*.md}", { cwd: root }).flatMap((page) =>
      Array.from(read(page).matchAll(/`(?:[\w./-]+\/)?([\w-]+\.ts)`/g), ([, name = ""]) => name)
        .filter((name) => !files.has(name))
        .map((name) => `${page}: ${name}`),
    );
    expect(missing).toEqual([]);
  });

  it.each(pages.filter((page) => read(page).includes("<!-- from ")))(
    "%s has code that is cut from examples, line by line and in order",
    (page) => {
      const blocks = [...read(page).matchAll(/<!-- from (\S+) -->\n```ts\n([\s\S]*?)```/g)];
      expect(blocks).toHaveLength(read(page).match(/<!-- from /g)?.length ?? 0);
      for (const [, file = "", block = ""] of blocks) {
        const source = read(file).split("\n");
        let position = 0;
        for (const line of block.split("\n").filter((text) => text !== "")) {
          const found = source.indexOf(line, position);
          expect(found, `${file} has no line, from ${position} on: ${line}`).not.toBe(-1);
          position = found + 1;
        }
      }
    },
  );

  it.each(pages)("%s has no dead link to a file or to a heading", (page) => {
    for (const [, link = "", anchor] of read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)) {
      const file = link === "" ? page : join(dirname(page), link);
      expect(existsSync(join(root, file)), link).toBe(true);
      if (anchor !== undefined) expect(anchorsIn(read(file)), link).toContain(anchor);
    }
  });

  it("have each claim of test/claims.json, which names tests that there are", () => {
    const without = claims.filter(({ page, text }) => !plainText(read(page)).includes(text));
    expect(without).toEqual([]);
    const unknown = claims
      .flatMap(({ tests }) => tests)
      .filter(
        ({ file, name }) => ![`"${name}",`, `\`${name}\`,`].some((literal) => read(file).includes(literal)),
      );
    expect(unknown).toEqual([]);
  });

  it.each(["docs/threat-model.md", "docs/status-contract.md"])(
    "%s has a claim with a test in each row",
    (page) => {
      const tables = [...read(page).matchAll(/^\|[-|]+\|\n((?:\|.*\n)+)/gm)];
      const rows = tables.flatMap(([, body = ""]) => body.trim().split("\n"));
      expect(rows.length).toBeGreaterThan(30);
      const tested = new Set(
        claims.filter((it) => it.page === page && it.tests.length > 0).map(({ text }) => text),
      );
      const claimOf = (row: string) => plainText(row.split(" | ")[0]?.slice(2) ?? "");
      expect(rows.map(claimOf).filter((claim) => !tested.has(claim))).toEqual([]);
    },
  );

  it("redirect each address that has moved to a page and a heading that exist", () => {
    const fileOf = new Map(sitePages.map(({ file, url }) => [`/${url}`, file]));
    for (const [from, to] of Object.entries(redirects)) {
      const [oldPage = "", oldHeading] = from.split("#");
      const [page = "", heading] = to.split("#");
      const old = fileOf.get(oldPage);
      expect(old === undefined, from).toBe(oldHeading === undefined);
      if (old !== undefined) expect(anchorsIn(read(old)), from).not.toContain(oldHeading);
      expect([...fileOf.keys()], to).toContain(page);
      if (heading !== undefined) expect(anchorsIn(read(fileOf.get(page) ?? "")), to).toContain(heading);
    }
  });

  it("have a guide of at most nine pages and 15,000 words, which README lists in the same order", () => {
    const guide = sections[0]?.pages ?? [];
    expect(guide.length).toBeLessThanOrEqual(9);
    const words = guide.flatMap(({ file }) => read(file).split(/\s+/)).length;
    expect(words).toBeLessThanOrEqual(15_000);
    const listed = Array.from(read("README.md").matchAll(/^\d\. \[.*?\]\((.*?)\)/gm), ([, file]) => file);
    expect(listed).toEqual(guide.map(({ file }) => file));
  });

  it("claims.md is what npm run docs makes of test/claims.json", () => {
    expect(read("docs/claims.md"), "run npm run docs").toBe(claimsPage(claims));
  });

  it.each(globSync("packages/*", { cwd: root }))(
    "%s is packed with a README whose links to files lead to the one address of the repository",
    (folder) => {
      const packed = packedReadme(read(`${folder}/README.md`), folder);
      expect(packed).not.toMatch(/\]\((?!https?:|#)/);
      const start = `](${pageUrl("")}`;
      for (const link of packed.split(start).slice(1))
        expect(existsSync(join(root, link.split(/[)#]/)[0] ?? "")), link).toBe(true);
    },
  );

  it("are named in messages by their URL, from the one constant, or by their name and project while it is the placeholder", () => {
    const url = "https://pages.example/blob/main/docs/sandbox.md";
    expect(pageOf("docs/sandbox.md", "https://pages.example")).toBe(url);
    const placeholder = "https://pages.example/your-organization/esim-webhooks";
    expect(pageOf("docs/sandbox.md", placeholder)).toBe("docs/sandbox.md of esim-webhooks");
    const code = globSync("packages/*/src/**/*.ts", { cwd: root }).flatMap((file) =>
      read(file)
        .replaceAll(/\/\*[\s\S]*?\*\/|\/\/ .*$/gm, "")
        .split("\n"),
    );
    expect(code.filter((line) => /docs\/[\w/-]+\.md/.test(line) && !line.includes("pageOf("))).toEqual([]);
  });

  it("name the repository's address in one constant, and else only where npm run docs writes it", () => {
    const files = globSync(
      "{*.{md,json,ts},.github/**/*,{docs,examples,packages,scripts,site,test}/**/*.{ts,mts,md,json,yml,yaml}}",
      {
        cwd: root,
        exclude: ["**/node_modules", "**/dist", "**/.vitepress/{cache,dist}"],
      },
    );
    const naming = files.filter(
      (file) => statSync(join(root, file)).isFile() && read(file).includes(repositoryUrl),
    );
    const made = /^packages\/(?:[\w-]+\/package\.json|otel\/monitoring\/rules\.yml)$/;
    expect(naming.filter((file) => !made.test(file))).toEqual(["packages/core/src/base/pages.ts"]);
  });

  it("order a replacement only for a dead download order, since a device may recover from any other fault", () => {
    expect(ordering.filter((it) => !it.includes("download_order_expired"))).toEqual([]);
  });

  it("give each order the key of its event or of its eSIM, since an event has an id for each endpoint and replay", () => {
    expect(ordering.length).toBeGreaterThan(20);
    const hasKey = /idempotencyKeyOf\(|on conflict do nothing|and replaced = 0/;
    expect(ordering.filter((it) => !hasKey.test(it))).toEqual([]);
  });

  it("name the rules of the spec, since a reader has no spec whose sections could be looked up", () => {
    const sources = globSync("packages/*/src/**/*.ts", { cwd: root });
    const numbered = [...pages, ...sources].filter((file) => /\bspec,? (?:section )?\d/i.test(read(file)));
    expect(numbered).toEqual([]);
  });

  it("status-contract.md gives every outcome, with the status and the headers it has", () => {
    const every: Readonly<Record<OutcomeCode, true>> = {
      processed: true,
      duplicate: true,
      discarded: true,
      unknown_type: true,
      unhandled_type: true,
      invalid: true,
      busy: true,
      retry_later: true,
      failed: true,
      deadline_reached: true,
      lease_lost: true,
      store_unavailable: true,
      stored: true,
      already_stored: true,
      conflict: true,
      missing_header: true,
      malformed_header: true,
      unusable_header: true,
      timestamp_out_of_tolerance: true,
      key_not_yet_valid: true,
      no_matching_key: true,
      method_not_allowed: true,
      unknown_endpoint: true,
      endpoint_unconfirmed: true,
      unsupported_encoding: true,
      too_large: true,
      overloaded: true,
      body_incomplete: true,
      body_consumed: true,
      shutting_down: true,
      rotating: true,
      keys_unavailable: true,
      missing_secret: true,
      internal_error: true,
    };
    const rows = [
      ...read("docs/status-contract.md").matchAll(
        /^\| `(\w+)` \| (\d+)(?: \+ ([\w-]+))? \| (tries again|stops)/gm,
      ),
    ];
    expect(rows.map(([, code]) => code).sort()).toEqual(Object.keys(every).sort());
    for (const [, code = "", status = "", header, then] of rows) {
      const reply = replyTo({ code, retryAfterMs: 1000, issues: [] } as unknown as Outcome);
      expect(String(reply.status)).toBe(status);
      expect(then).toBe(reply.status >= 500 || reply.status === 408 ? "tries again" : "stops");
      if (header !== undefined) expect(reply.headers).toHaveProperty(header.toLowerCase());
      else if (code !== "busy")
        expect(Object.keys({ ...replyTo({ code } as Outcome).headers })).toEqual(["content-type"]);
    }
  });

  it("runbook.md has each outcome that is answered 5xx for a cause that does not pass by itself", () => {
    const every = read("docs/status-contract.md").matchAll(/^\| `(\w+)` \| 5\d\d/gm);
    const [, causes = ""] =
      /^## Deliveries are answered 5xx$([\s\S]*?)^## /m.exec(read("docs/runbook.md")) ?? [];
    const rows = causes.matchAll(/^\| (`.*?) \| (?!what)/gm);
    const inPassing = ["busy", "retry_later", "shutting_down"];
    expect(
      [...Array.from(rows, ([, codes = ""]) => codes.match(/\w+/g) ?? []).flat(), ...inPassing].sort(),
    ).toEqual(Array.from(every, ([, code]) => code).sort());
  });
});

import { readdirSync } from "node:fs";
import { join } from "node:path";

export const root: string = join(import.meta.dirname, "..");

/** A page of the site: a file of the repository, which stays where it is, and its place in the site. */
export interface Page {
  /** From the repository's root. */
  readonly file: string;
  /** In the site, without `.html`. */
  readonly url: string;
  /** In the sidebar. */
  readonly title: string;
  /** What the reader can do with it, after "With this page, you can": shown below its heading, and to search engines. */
  readonly lead: string;
  /** Its headings are in the sidebar, too. */
  readonly showsHeadings?: true;
}

export interface Section {
  readonly title: string;
  readonly pages: readonly Page[];
}

const page = (file: string, url: string, title: string, lead: string): Page => ({ file, url, title, lead });

/** By task, one page a question. */
export const sections: readonly Section[] = [
  {
    title: "Start",
    pages: [
      page(
        "docs/start.md",
        "start",
        "From nothing to production",
        "set up a receiver that stores every event, a worker with your handlers, a reconciler, a dashboard and an alert.",
      ),
      page(
        "docs/sandbox.md",
        "sandbox",
        "The sandbox",
        "run the whole partner service on your machine, and make it fail as the real one may.",
      ),
    ],
  },
  {
    title: "Receive",
    pages: [
      page(
        "docs/receive.md",
        "receive/",
        "Which adapter",
        "mount a receiver on your framework, on plain Node.js, or wherever there is a Request and a Response.",
      ),
      page("packages/express/README.md", "receive/express", "Express", "receive events on Express 5 and 4."),
      page("packages/fastify/README.md", "receive/fastify", "Fastify", "receive events on Fastify 5."),
      page("docs/nest.md", "receive/nest", "NestJS", "handle events in methods of your providers."),
      {
        ...page(
          "docs/frameworks.md",
          "receive/frameworks",
          "Next.js, Hono and others",
          "receive events on Next.js, SvelteKit, Nuxt, React Router, Astro, Hono, h3, Koa, Hapi, plain Node.js, Bun and Deno.",
        ),
        showsHeadings: true,
      },
      page(
        "docs/cloudflare.md",
        "receive/cloudflare",
        "Cloudflare Workers",
        "receive events on Workers, with a Durable Object as store and a Queue as inbox.",
      ),
      page(
        "docs/lambda.md",
        "receive/lambda",
        "AWS Lambda",
        "receive events behind API Gateway, a function URL or a load balancer, with SQS as inbox and DynamoDB as store.",
      ),
      page(
        "docs/platforms.md",
        "receive/platforms",
        "What was run where",
        "see which framework was run in which version, and what to know on Vercel, Netlify, Azure Functions and Cloud Run.",
      ),
      page(
        "packages/core/README.md",
        "receive/core",
        "The core package",
        "make a receiver for Node.js or fetch, and find the import path of each part of core.",
      ),
      page(
        "docs/endpoint.md",
        "receive/endpoint",
        "Register and check an endpoint",
        "register your endpoint, check it, serve many of them, and get their events on your laptop.",
      ),
      page(
        "docs/status-contract.md",
        "receive/status-contract",
        "What is answered, and why",
        "look up the status of every outcome, and what the sender does next.",
      ),
      page(
        "docs/capture.md",
        "receive/capture",
        "A signature that does not match",
        "capture a delivery that was answered 401, and find out why.",
      ),
    ],
  },
  {
    title: "Handle",
    pages: [
      page(
        "docs/handlers.md",
        "handle/",
        "Write a handler",
        "write handlers that end an event, discard it, or let it run again later.",
      ),
      page(
        "docs/effects.md",
        "handle/effects",
        "Effects that happen once",
        "write an effect in the transaction of its event, or make it idempotent, so that a crash does not repeat it.",
      ),
      page(
        "docs/order.md",
        "handle/order",
        "Order",
        "handle events that arrive in any order, or one after the other for each eSIM.",
      ),
      page(
        "docs/client.md",
        "handle/client",
        "Call the partner API",
        "order eSIMs and make other calls from a handler, without a second effect.",
      ),
    ],
  },
  {
    title: "Store and work",
    pages: [
      page(
        "docs/stores.md",
        "work/",
        "Which store, which inbox",
        "choose where ids and events are kept, and say what that choice promises.",
      ),
      page(
        "docs/state-machine.md",
        "work/states",
        "The states of an event",
        "say where an event is, why it waits, and what happens to it if a process dies.",
      ),
      page(
        "docs/sqlite.md",
        "work/sqlite",
        "SQLite",
        "keep ids and events in one file, for all processes of a machine.",
      ),
      page(
        "docs/postgres.md",
        "work/postgres",
        "Postgres",
        "keep ids and events in your database, and write effects in the same transaction.",
      ),
      page(
        "docs/redis.md",
        "work/redis",
        "Redis",
        "share the ids that were handled between any number of processes.",
      ),
      page(
        "docs/bullmq.md",
        "work/bullmq",
        "BullMQ",
        "store events as jobs, and handle them in the workers of BullMQ.",
      ),
      page(
        "docs/personal-data.md",
        "work/personal-data",
        "Personal data",
        "say where personal data is kept, for how long, and erase that of one eSIM.",
      ),
    ],
  },
  {
    title: "Recover",
    pages: [
      page(
        "docs/runbook.md",
        "recover/",
        "Runbook",
        "bring events back after an outage, a lost database or a failed rotation.",
      ),
      page(
        "docs/reconcile.md",
        "recover/reconcile",
        "Reconcile",
        "recover every event of the last seven days that you do not have.",
      ),
      page(
        "docs/import.md",
        "recover/import",
        "Import a dump",
        "replay events from a file, none of them twice.",
      ),
    ],
  },
  {
    title: "Rotate",
    pages: [
      page(
        "docs/rotation.md",
        "rotate",
        "Rotate the secret",
        "change the signing secret while events arrive, and lose none.",
      ),
    ],
  },
  {
    title: "Operate",
    pages: [
      page(
        "docs/cli.md",
        "operate/cli",
        "The command line",
        "receive, look into, repair and copy an inbox from a terminal.",
      ),
      page(
        "docs/observing.md",
        "operate/observing",
        "Metrics, traces, probes and logs",
        "see each delivery, and be warned when none arrives.",
      ),
      page(
        "docs/operations.md",
        "operate/alerts",
        "Grafana and alerts",
        "set up a Grafana dashboard, and alert rules that were tested.",
      ),
      page(
        "docs/dashboard.md",
        "operate/dashboard",
        "The dashboard",
        "find events in the browser, understand them and run them again.",
      ),
      page(
        "docs/drift.md",
        "operate/drift",
        "Drift",
        "notice that the API has changed, with the first event.",
      ),
      page(
        "docs/upgrading.md",
        "operate/upgrading",
        "Upgrade",
        "deploy a version while events arrive, and go back.",
      ),
      page(
        "docs/sizing.md",
        "operate/sizing",
        "Sizing",
        "say how many processes, connections and cores you need.",
      ),
    ],
  },
  {
    title: "Test",
    pages: [
      page(
        "docs/testing.md",
        "test",
        "Test your handlers",
        "test handlers and your whole backend without a network.",
      ),
    ],
  },
  {
    title: "Reference",
    pages: [
      page(
        "docs/events.md",
        "events",
        "Events",
        "look up when each event is sent, what its fields mean, and what to do.",
      ),
      page(
        "docs/options.md",
        "options",
        "Options",
        "find the options of each function, with their defaults.",
      ),
      page("docs/errors.md", "errors", "Errors", "look up the code of any error, and fix what it is about."),
      page(
        "docs/compatibility.md",
        "compatibility",
        "Compatibility",
        "say what stays the same across versions, for how long, and how you learn of a change.",
      ),
      page(
        "docs/spec.md",
        "spec",
        "What the sender does",
        "look up the rules of the sender that matter to a receiver.",
      ),
    ],
  },
  {
    title: "Other packages",
    pages: [
      "cli",
      "client",
      "cloudflare",
      "conformance",
      "dashboard",
      "endpoint",
      "import",
      "lambda",
      "nest",
      "otel",
      "queue-bullmq",
      "sandbox",
      "store-postgres",
      "store-redis",
      "store-sqlite",
    ].map((name) =>
      page(
        `packages/${name}/README.md`,
        `packages/${name}`,
        `@esim-webhooks/${name}`,
        "install the package and make a first call.",
      ),
    ),
  },
  {
    title: "Why and how",
    pages: [
      page(
        "docs/design.md",
        "design/",
        "Design",
        "follow an event through the code, and find where to change what.",
      ),
      page(
        "docs/reliability.md",
        "design/reliability",
        "How each promise is checked",
        "repeat the checks behind each promise.",
      ),
      page(
        "docs/threat-model.md",
        "design/threat-model",
        "Threat model",
        "say who may attack what, which protection holds, and where it ends.",
      ),
      page(
        "docs/claims.md",
        "design/claims",
        "Claims and their tests",
        "find the tests that show what the threat model and the status contract say.",
      ),
      page(
        "bench/README.md",
        "design/figures",
        "Figures",
        "say what each part costs, compared with its peers.",
      ),
    ],
  },
];

const designPages = readdirSync(join(root, "docs/design")).map((name) => {
  const room = name.replace(".md", "");
  return page(`docs/design/${name}`, `design/${room}`, room, `read why ${room} is built as it is.`);
});

export const pages: readonly Page[] = [...sections.flatMap((section) => section.pages), ...designPages];

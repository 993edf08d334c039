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
  /** The page's use for the reader, after "With this page, you can": shown below its heading, and to search engines. */
  readonly lead: string;
  /** Its headings are in the sidebar, too. */
  readonly showsHeadings?: true;
}

export interface Section {
  readonly title: string;
  readonly pages: readonly Page[];
}

const page = (file: string, url: string, title: string, lead: string): Page => ({ file, url, title, lead });

/** First the guide, which a customer reads in this order; then what is looked up; then what contributors read. */
export const sections: readonly Section[] = [
  {
    title: "Guide",
    pages: [
      page(
        "docs/start.md",
        "start",
        "Start",
        "set up a receiver that stores every event, a worker with your handlers, a reconciler, a dashboard and an alert.",
      ),
      page(
        "docs/handlers.md",
        "handle/",
        "Write a handler",
        "write handlers that end an event, discard it or let it run again, in any order, with effects that happen once.",
      ),
      page(
        "docs/stores.md",
        "work/",
        "Choose where events are kept",
        "choose the store or the inbox for one server, two servers or many, and say what that choice promises.",
      ),
      page(
        "docs/deploy.md",
        "deploy",
        "Deploy and stop",
        "deploy new handlers while events arrive, and stop a process in Docker, Kubernetes and systemd without losing an event.",
      ),
      page(
        "docs/testing.md",
        "test",
        "Test your handlers",
        "test handlers and your whole backend without a network.",
      ),
      page(
        "docs/operations.md",
        "operate/alerts",
        "Monitoring",
        "see metrics in Prometheus, Grafana or Datadog, and be warned in time.",
      ),
      page(
        "docs/troubleshooting.md",
        "troubleshooting",
        "When something is wrong",
        "find the cause of an error by its message or its status, such as 401, 404, 503 or a timeout, and fix it.",
      ),
      page(
        "docs/missed.md",
        "missed",
        "Change the secret, find missed events",
        "change the signing secret, and recover the events that you do not have.",
      ),
      page(
        "docs/own-route.md",
        "own-route",
        "From your own route and queue",
        "move from a route and a job queue of your own, such as Express with BullMQ, and go back.",
      ),
    ],
  },
  {
    title: "Reference: look up",
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
      page(
        "docs/status-contract.md",
        "receive/status-contract",
        "Which status do I answer?",
        "look up the status of every outcome, and what the sender does next.",
      ),
      page("docs/errors.md", "errors", "Errors", "look up the code of any error, and fix what it is about."),
      page(
        "docs/observing.md",
        "operate/observing",
        "Metrics, traces and probes",
        "look up each metric, span, probe and trouble.",
      ),
      page("docs/log-lines.md", "operate/log-lines", "Log lines", "pass a logger, and look up each line."),
      page(
        "docs/cli.md",
        "operate/cli",
        "The command line",
        "receive, look into, repair and copy an inbox from a terminal.",
      ),
      page(
        "docs/state-machine.md",
        "work/states",
        "The states of an event",
        "say where an event is, why it waits, and what happens to it if a process dies.",
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
    title: "Reference: frameworks",
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
    ],
  },
  {
    title: "Reference: stores",
    pages: [
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
    title: "Reference: recover and operate",
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
        "Reconcile, in detail",
        "recover every event of the last seven days that you do not have.",
      ),
      page(
        "docs/import.md",
        "recover/import",
        "Import a dump",
        "replay events from a file, none of them twice.",
      ),
      page(
        "docs/rotation.md",
        "rotate",
        "Rotation, step by step",
        "change the signing secret while events arrive, and lose none.",
      ),
      page(
        "docs/endpoint.md",
        "receive/endpoint",
        "Endpoints, and types of your own",
        "register and check an endpoint, serve many of them, add your own event types, and get events on your laptop.",
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
        "docs/dashboard.md",
        "operate/dashboard",
        "The dashboard",
        "find events in the browser, understand them and run them again.",
      ),
      page(
        "docs/sandbox.md",
        "sandbox",
        "The sandbox",
        "run the whole partner service on your machine, and make it fail as the real one may.",
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
    title: "Reference: packages",
    pages: [
      page(
        "packages/core/README.md",
        "receive/core",
        "The core package",
        "make a receiver for Node.js or fetch, and find the import path of each part of core.",
      ),
      ...[
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
    ],
  },
  {
    title: "Contributing",
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
        "docs/compatibility.md",
        "compatibility",
        "Compatibility",
        "say what stays the same across versions, for how long, and how you learn of a change.",
      ),
      page(
        "docs/platforms.md",
        "receive/platforms",
        "What was run where",
        "see which framework was run in which version, and what to know on Vercel, Netlify, Azure Functions and Cloud Run.",
      ),
      page(
        "docs/sizing.md",
        "operate/sizing",
        "Sizing",
        "say how many processes, connections and cores you need.",
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

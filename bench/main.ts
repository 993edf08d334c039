// npm run bench [-- verify | receive | observe | otel | http | redis | hostile | door | inbox | bullmq | embedded | dashboard | operators | against [commit] | import | lambda | sandbox | cli | start | cloudflare]: measures esim-webhooks and its peers in the same run. It asserts nothing.
import { benchAgainst } from "./against.ts";
import { benchBullmq } from "./bullmq.ts";
import { benchCli } from "./cli.ts";
import { benchCloudflare } from "./cloudflare.ts";
import { benchDashboard } from "./dashboard.ts";
import { benchDoor } from "./door.ts";
import { benchEmbedded } from "./embedded.ts";
import { benchForged, benchHttp, benchHttpRedis } from "./http.ts";
import { benchImport } from "./import.ts";
import { benchInbox } from "./inbox.ts";
import { benchLambda } from "./lambda.ts";
import { benchObserve } from "./observe.ts";
import { benchOperators } from "./operators.ts";
import { benchOtel } from "./otel.ts";
import { benchReceive } from "./receive.ts";
import { benchSandbox } from "./sandbox.ts";
import { benchStart } from "./start.ts";
import { benchVerify } from "./verify.ts";

const names = process.argv.slice(2);
const commit = names[0] === "against" ? names.splice(1, 1)[0] : undefined;
const benches: Readonly<Record<string, () => Promise<void>>> = {
  verify: benchVerify,
  receive: benchReceive,
  observe: benchObserve,
  otel: benchOtel,
  http: benchHttp,
  redis: benchHttpRedis,
  hostile: benchForged,
  door: benchDoor,
  inbox: benchInbox,
  bullmq: benchBullmq,
  embedded: benchEmbedded,
  dashboard: benchDashboard,
  operators: benchOperators,
  against: () => benchAgainst(commit),
  import: benchImport,
  lambda: benchLambda,
  sandbox: benchSandbox,
  cli: benchCli,
  start: benchStart,
  cloudflare: benchCloudflare,
};
const unknown = names.filter((name) => !(name in benches));
if (unknown.length > 0) {
  console.error(
    `There is no bench "${unknown.join('", "')}". There are: ${Object.keys(benches).join(", ")}.`,
  );
  process.exit(2);
}
console.log(`Node.js ${process.version}, ${process.arch}`);
for (const name of names.length > 0 ? names : Object.keys(benches)) await benches[name]?.();

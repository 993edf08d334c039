// What a script in any language may rely on: a command, JSON over HTTP, Standard Webhooks. It uses nothing of this project.
// Its arguments are the command that starts the sandbox; it exits with 0 if everything was as the contract says.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { Webhook } from "standardwebhooks";

/** The requests that came, and how the next ones are answered: with a status, or not at all. */
const requests = [];
const waiting = [];
let answer = 200;
/** How many more requests hang: the service waits 5 s for each. */
let hanging = 0;
const receiver = createServer(async (request, response) => {
  const chunks = await request.toArray();
  requests.push({ url: request.url, headers: request.headers, body: Buffer.concat(chunks).toString() });
  for (const look of waiting.splice(0)) look();
  if (request.url === "/hangs" && hanging-- > 0) return;
  response.writeHead(answer).end("noted");
}).listen(0, "127.0.0.1");
await once(receiver, "listening");
const receiverUrl = `http://127.0.0.1:${receiver.address().port}`;

/** Resolves with the first request, also one that has come already, that `isIt` accepts. */
async function received(isIt) {
  for (;;) {
    const found = requests.find(isIt);
    if (found) return found;
    await new Promise((resolve) => waiting.push(resolve));
  }
}

const [command, ...args] = process.argv.slice(2);
const switches = ["--set", "inFlight=423", "--set", "answerLimitMs=5000"];
const options = ["sandbox", "--port", "0", "--clock", "manual", ...switches, "--json"];
const sandbox = spawn(command, [...args, ...options], { stdio: ["ignore", "pipe", "inherit"] });
process.on("exit", () => sandbox.kill()); // also when something was not as it says
const ended = once(sandbox, "exit");
const [line] = await once(createInterface(sandbox.stdout), "line");
const { url, controlUrl, clientId, clientSecret, ...rest } = JSON.parse(line);
assert.deepEqual(rest, {});
assert.match(url, /^http:\/\/.*\/api\/v3$/);

const form = { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret };
const token = await fetch(`${url}/auth/token`, { method: "POST", body: new URLSearchParams(form) });
const { access_token, expires_in } = await token.json();
assert.equal(expires_in, 24 * 60 * 60);

async function api(method, path, body, key) {
  const headers = { authorization: `Bearer ${access_token}`, "content-type": "application/json" };
  if (key) headers["x-idempotency-key"] = key;
  const response = await fetch(url + path, { method, headers, body: JSON.stringify(body) });
  return { status: response.status, ...(await response.json()) };
}

async function control(method, path, body) {
  const response = await fetch(controlUrl + path, { method, body: JSON.stringify(body) });
  const { data, error } = await response.json();
  assert.ok(response.ok, `${method} ${path}: ${error?.message}`);
  return data;
}

// an endpoint, an eSIM, and the event that it was ordered
const types = [
  "esim.assigned",
  "esim.downloaded",
  "esim.installed",
  "esim.enabled",
  "esim.disabled",
  "esim.deleted",
  "esim.faulted",
  "esim.mccswitch",
  "esim.balance.updated",
  "esim.lifecycle.terminated",
  "package.ended",
  "port_in.completed",
];
const made = await api("POST", "/management/webhooks", { url: `${receiverUrl}/in`, eventTypes: types });
assert.equal(made.status, 201);
const endpoint = made.data.webhookEndpointReference;
const webhook = new Webhook(made.data.signingSecret);

const esim = await control("POST", "/esims");
assert.match(esim.profileReference, /^\d{16}$/);
assert.match(esim.iccid, /^\d{19}$/);
const assigned = await received(({ url }) => url === "/in");
const event = webhook.verify(assigned.body, assigned.headers);
assert.equal(event.type, "esim.assigned");
assert.deepEqual(event.data, {
  profileReference: esim.profileReference,
  esimReference: esim.esimReference,
  iccid: esim.iccid,
});

// a life, each event signed
async function happens(path, body, type) {
  const data = await control("POST", path, body);
  const { headers, body: text } = await received(({ body }) => JSON.parse(body).type === type);
  requests.length = 0;
  return { data, event: webhook.verify(text, headers) };
}
const on = `/esims/${esim.esimReference}`;
const faulted = await happens(`${on}/fault`, { reason: "download_failed" }, "esim.faulted");
assert.equal(faulted.event.data.reason, "download_failed");
await happens(`${on}/downloaded`, undefined, "esim.downloaded");
await happens(`${on}/installed`, undefined, "esim.installed");
await happens(`${on}/enabled`, undefined, "esim.enabled");
const number = { msisdn: "31612345678", details: { donorContractType: "prepaid" } };
await control("POST", `${on}/port-in`, number);
await control("POST", `${on}/port-in/approve`);
const ported = await happens(`${on}/port-in/complete`, undefined, "port_in.completed");
assert.equal(ported.data.portIn.status, "completed");
const abroad = await happens(`${on}/network`, { country: "NL" }, "esim.mccswitch");
assert.equal(abroad.event.data.newMcc, "204");
const credit = { updateType: "credit", amount: 500 };
const paid = await happens(`${on}/balance`, credit, "esim.balance.updated");
assert.equal(paid.event.data.balanceAfter, 500);
const { packages } = await control("POST", `${on}/packages`, { planReference: "PLAN-EU" });
await happens(`/packages/${packages[0].packageReference}/end`, { reason: "expired" }, "package.ended");
await happens(`${on}/disabled`, undefined, "esim.disabled");
await happens(`${on}/deleted`, undefined, "esim.deleted");
await happens(`${on}/lifecycle`, { operation: "terminate" }, "esim.lifecycle.terminated");

// the clock: answered when what became due was answered, or has hung
requests.length = 0;
answer = 500;
hanging = 2;
await api("POST", "/management/webhooks", { url: `${receiverUrl}/hangs`, eventTypes: ["esim.enabled"] });
await control("POST", "/events", { type: "esim.enabled", data: { any: "thing" } });
await control("POST", "/clock", { advance: "8h" });
for (const path of ["/in", "/hangs"]) {
  const attempts = requests.filter(({ url }) => url === path);
  assert.equal(attempts.length, 9); // at 0, 30 s, 1 m 30 s, … 7 h 51 m 30 s
  assert.equal(new Set(attempts.map(({ headers }) => headers["webhook-id"])).size, 1);
}
const listed = await api("GET", `/management/webhooks/${endpoint}/deliveries?limit=1`);
assert.equal(listed.data[0].attemptNumber, 9);
assert.equal(listed.data[0].status, "failed");
assert.equal(listed.data[0].responseBody, "noted");
const next = Date.parse(listed.data[0].nextRetryAt) - Date.parse(listed.data[0].sentAt);
assert.equal(next, 8 * 60 * 60 * 1000);
answer = 200;
await control("POST", "/clock", { advance: "8h" });
const again = await api("GET", `/management/webhooks/${endpoint}/deliveries?limit=1`);
assert.equal(again.data[0].status, "delivered");

// inactive endpoints get nothing, until they are active again
requests.length = 0;
await control("PATCH", `/endpoints/${endpoint}`, { active: false });
await control("POST", "/events", { type: "esim.disabled", data: { number: 1 } });
await control("PATCH", `/endpoints/${endpoint}`, { active: true });
await control("POST", "/events", { type: "esim.disabled", data: { number: 2 } });
await control("POST", "/clock", { advance: "1s" });
assert.deepEqual(
  requests.map(({ body }) => JSON.parse(body).data.number),
  [2],
);

// support knows both
requests.length = 0;
const replayed = await control("POST", "/support/replay", {});
assert.ok(replayed.eventIds.includes(listed.data[0].eventId));
await received(({ body }) => JSON.parse(body).data.number === 1);
const dump = await fetch(`${controlUrl}/support/dump`, { method: "POST" });
const records = (await dump.text()).trimEnd().split("\n");
assert.ok(records.some((record) => JSON.parse(record).eventId === assigned.headers["webhook-id"]));

// an answer that is lost after the call was done: the same key brings it
await control("POST", "/faults", { kind: "drop_answer", call: "POST /esims" });
const order = { externalProfileId: "of our own" };
await assert.rejects(api("POST", "/esims", order, "key-1"));
const ordered = await api("POST", "/esims", order, "key-1");
assert.equal(ordered.data.esimReference, (await control("GET", "/esims?limit=1"))[0].esimReference);
assert.deepEqual(await control("DELETE", "/faults"), []);

await control("POST", "/reset");
await control("POST", "/clock", { advance: "1s" });
assert.deepEqual((await api("GET", "/management/webhooks")).data, []); // the token is still good
assert.deepEqual(await control("GET", "/esims"), []);

sandbox.kill("SIGTERM");
assert.deepEqual(await ended, [0, null]);
receiver.close();
receiver.closeAllConnections();
console.log("as the contract says");

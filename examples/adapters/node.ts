import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { nodeHandler } from "@esim-webhooks/core";

const server = createServer(
  nodeHandler({
    "esim.faulted": async ({ data }) => console.log(`faulted: ${data.reason}`),
  }),
);

server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
server.on("error", (error) => {
  console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
  process.exit(1);
});

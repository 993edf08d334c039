// The attack of the door bench, in a thread of its own: sends `request` over and over on keep-alive connections.
import { connect } from "node:net";
import { workerData } from "node:worker_threads";

const { port, request, connections } = workerData as {
  port: number;
  request: Uint8Array;
  connections: number;
};
for (let n = 0; n < connections; n++) {
  const socket = connect(port, "127.0.0.1").setNoDelay(true);
  const send = () => void socket.write(request);
  socket
    .on("connect", send)
    .on("data", send)
    .on("error", () => {});
}

// node serve.ts <file> <port>: calls the handler in the file for each request, as a function URL does
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const [file = "index.ts", port = "3000"] = process.argv.slice(2);
const { handler } = await import(pathToFileURL(file).href);

const server = createServer(async (request, response) => {
  const event = {
    rawPath: request.url?.split("?")[0],
    headers: request.headers,
    requestContext: { http: { method: request.method } },
    body: (await buffer(request)).toString("base64"), // the bytes as they came: the signature covers them
    isBase64Encoded: true,
  };
  const endsAt = Date.now() + 30_000; // the function's timeout
  const context = { getRemainingTimeInMillis: () => endsAt - Date.now() };
  const { statusCode, headers, body } = await handler(event, context);
  response.writeHead(statusCode, headers).end(body);
});
server.listen(Number(port), "127.0.0.1", () => console.log(`${file} has the URL http://127.0.0.1:${port}/`));
server.on("error", (error) => {
  console.error(`The server cannot listen: ${error.message}. Pass a free port.`);
  process.exit(1);
});

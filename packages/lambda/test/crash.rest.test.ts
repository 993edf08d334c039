import { crashSuite } from "@esim-webhooks/conformance";
import { afterAll, beforeAll, describe, it } from "vitest";
import { crashes } from "../../../test/support/crashes.ts";
import { type AwsKeysServer, startAwsKeys } from "./aws-keys-server.ts";

let server: AwsKeysServer;
beforeAll(async () => {
  server = await startAwsKeys();
  process.env["AWS_KEYS_URL"] = server.url;
});
afterAll(() => server.close());

crashSuite(
  "secretsManagerKeys",
  { keys: import.meta.resolve("./open-secrets-manager-keys.ts"), ...crashes },
  { describe, it },
);
crashSuite("ssmKeys", { keys: import.meta.resolve("./open-ssm-keys.ts"), ...crashes }, { describe, it });

import { join } from "node:path";
import type { OpenKeys } from "@esim-webhooks/conformance";
import { fileKeySource } from "@esim-webhooks/core/key-file";

const open: OpenKeys = (name) => ({ keys: fileKeySource(join(process.env["KEY_FOLDER"] ?? "", name)) });
export default open;

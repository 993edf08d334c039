import { existsSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { memoryStore } from "@esim-webhooks/core";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import type { KeyStore } from "@esim-webhooks/core";

import { WebhookError } from "@esim-webhooks/core";
import type { ImportErrorCode } from "@esim-webhooks/import";
import { ProgramError } from "../program/program-error.ts";
import type { DumpFile } from "./dump-file.ts";

/** An error of the import, with a remedy in terms of the command line. */
export function explained(error: unknown, { name, checkpointFile }: DumpFile): unknown {
  if (!WebhookError.is(error)) return isUnwritable(error) ? unwritable(error) : error;
  switch (error.code) {
    case "unsigned_dump":
      return new WebhookError<ImportErrorCode>(
        "unsigned_dump",
        `${name} has records without a signature, as in the deliveries listing: nothing proves who wrote them.`,
        "If you trust where it comes from, add --trust-unsigned.",
        { cause: error.cause },
      );
    case "source_unknown":
      return new WebhookError<ImportErrorCode>(
        "source_unknown",
        error.message.split(" Set {")[0] ?? "",
        "Name the endpoint that received them with --source, or add --new-source if this one has no events there yet.",
      );
    case "checkpoint_mismatch":
      return new WebhookError<ImportErrorCode>(
        "checkpoint_mismatch",
        `${checkpointFile} belongs to an interrupted import of another dump or with other flags.`,
        "Use the same dump and flags to continue that import, or remove the file to start over: what was imported then counts as duplicate.",
        { cause: error.cause },
      );
    case "foreign_file":
      return new WebhookError<ImportErrorCode>(
        "foreign_file",
        `${error.message.slice(0, -1)},`, // its remedy ends with a place, but names no flag
        "with --rejects and --checkpoint.",
        { cause: error.cause },
      );
    default:
      return error;
  }
}

const unwritableCodes: ReadonlySet<unknown> = new Set([
  "ENOENT",
  "ENOTDIR",
  "EACCES",
  "EPERM",
  "EROFS",
  "EISDIR",
]);

function isUnwritable(error: unknown): error is NodeJS.ErrnoException {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return syscall === "open" && unwritableCodes.has(code);
}

/** The rejects file and the checkpoint are beside the dump by default, where writing may be forbidden. */
function unwritable(cause: NodeJS.ErrnoException): ProgramError {
  return new ProgramError(
    "invalid_usage",
    `${cause.path} cannot be opened.`,
    "Choose other places with --rejects and --checkpoint.",
    { cause },
  );
}

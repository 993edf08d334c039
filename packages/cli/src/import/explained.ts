import { WebhookError } from "@esim-webhooks/core";
import type { ImportErrorCode } from "@esim-webhooks/import";
import { ProgramError } from "../program/program-error.ts";
import type { DumpFile } from "./dump-file.ts";

/** An error of the import, with the remedy as it is called on the command line. */
export function explained(error: unknown, { name, checkpointFile }: DumpFile): unknown {
  if (!WebhookError.is(error)) return isUnwritable(error) ? unwritable(error) : error;
  switch (error.code) {
    case "unsigned_dump":
      return new WebhookError<ImportErrorCode>(
        "unsigned_dump",
        `${name} has records without a signature, as the deliveries listing does: nothing proves who wrote them.`,
        "If you know where it comes from, say so by --trust-unsigned.",
        { cause: error.cause },
      );
    case "checkpoint_mismatch":
      return new WebhookError<ImportErrorCode>(
        "checkpoint_mismatch",
        `${checkpointFile} is of an import that was interrupted, of another dump or with other flags.`,
        "Give the flags of then to go on with it; or remove it to begin anew, where what was done stays a duplicate.",
        { cause: error.cause },
      );
    default:
      return error;
  }
}

const placeIsWrong: ReadonlySet<unknown> = new Set([
  "ENOENT",
  "ENOTDIR",
  "EACCES",
  "EPERM",
  "EROFS",
  "EISDIR",
]);

function isUnwritable(error: unknown): error is NodeJS.ErrnoException {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return syscall === "open" && placeIsWrong.has(code);
}

/** A dump may be where nothing can be written. */
function unwritable(cause: NodeJS.ErrnoException): ProgramError {
  return new ProgramError(
    "invalid_usage",
    `${cause.path} cannot be opened.`,
    "Have the files that go with a dump elsewhere by --rejects and --checkpoint.",
    { cause },
  );
}

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newSecret } from "@esim-webhooks/core/testing";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { refuseNoFile, refuseUnfitForRotation } from "../../src/endpoint/key-file.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "key-file-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

const at = (file: string) => ({ file, where: file });

describe("a key file, before a rotation", () => {
  it("is fine with a secret in a folder that can be written, and stays as it is", async () => {
    const file = join(folder, "esim.key");
    writeFileSync(file, newSecret(), { mode: 0o600 });
    await refuseUnfitForRotation(at(file), process);
    writeFileSync(file, '{ "keys": [] }');
    await refuseUnfitForRotation(at(file), process);
    expect(readdirSync(folder)).toEqual(["esim.key"]);
  });

  it("is named when it does not exist or is empty, with the command that makes it one without a key", async () => {
    const file = join(folder, "esim.key");
    const remedy = `write that it has no key yet, and run this again: (umask 077; echo '{ "keys": [] }' > ${file})`;
    await expect(refuseUnfitForRotation(at(file), process)).rejects.toMatchObject({
      code: "missing_secret",
      message: expect.stringContaining(`The key file ${file} does not exist`),
    });
    writeFileSync(file, "");
    await expect(refuseUnfitForRotation(at(file), process)).rejects.toMatchObject({
      code: "missing_secret",
      message: expect.stringContaining(`The key file ${file} is empty`),
    });
    await expect(refuseUnfitForRotation(at(file), process)).rejects.toThrow(remedy);
  });

  it("is refused when no file can be made beside it", async () => {
    const file = join(folder, "k".repeat(230)); // a name in which there is no room for the draft's
    writeFileSync(file, newSecret(), { mode: 0o600 });
    await expect(refuseUnfitForRotation(at(file), process)).rejects.toMatchObject({
      code: "invalid_usage",
      message: expect.stringContaining(
        `cannot be replaced: nothing can be written to its folder (ENAMETOOLONG). Give this user the right to write to ${folder}.`,
      ),
    });
  });
});

it("there is no key file in a folder that does not exist, and none where a folder or a device is", async () => {
  await refuseNoFile(at(join(folder, "to-be-created")));
  const lost = join(folder, "nowhere/esim.key");
  await expect(refuseNoFile(at(lost))).rejects.toMatchObject({
    code: "invalid_usage",
    message: `The key file ${lost} cannot be there: its folder ${join(folder, "nowhere")} does not exist. Correct the path, or create the folder.`,
  });
  await expect(refuseNoFile(at(folder))).rejects.toThrow(
    `The key file ${folder} is a folder. Name the file in it that the receivers read.`,
  );
  await expect(refuseNoFile(at("/dev/null"))).rejects.toThrow(
    "The key file /dev/null is not a regular file. Name the file that the receivers read.",
  );
});

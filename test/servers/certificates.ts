import { execFileSync } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { asNobody, serverFolder } from "./kept-server.ts";

/** A private authority, and the certificate that it has issued last for a server. */
export interface TestAuthority {
  /** The path of the authority's certificate. */
  readonly ca: string;
  /** The paths of the server's certificate and key. */
  readonly cert: string;
  readonly key: string;
  /** Replaces the server's certificate with one for this host, which is valid for `days` from now. */
  issue(host: string, days: number): void;
  close(): Promise<void>;
}

/** Makes an authority with openssl, and a certificate for localhost. */
export async function testAuthority(): Promise<TestAuthority> {
  const folder = await serverFolder("certificates");
  const openssl = (...args: readonly string[]) =>
    execFileSync("openssl", args, { cwd: folder, stdio: ["ignore", "ignore", "pipe"], ...asNobody() });
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl(
    "req",
    "-x509",
    ...newKey,
    "-keyout",
    "ca.key",
    "-out",
    "ca.pem",
    "-days",
    "3650",
    "-subj",
    "/CN=a private authority",
  );
  openssl("req", ...newKey, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=a server");
  const issue = (host: string, days: number) => {
    execFileSync("sh", ["-c", `echo "subjectAltName = DNS:${host}" > names`], { cwd: folder, ...asNobody() });
    const by = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names"];
    openssl("x509", "-req", "-in", "server.csr", ...by, "-days", String(days), "-out", "server.pem");
  };
  issue("localhost", 3650);
  return {
    ca: join(folder, "ca.pem"),
    cert: join(folder, "server.pem"),
    key: join(folder, "server.key"),
    issue,
    close: () => rm(folder, { recursive: true }),
  };
}

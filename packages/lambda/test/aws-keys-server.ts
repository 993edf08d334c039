import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A refusal of AWS, by its name. */
class Refusal extends Error {}

// biome-ignore lint/suspicious/noExplicitAny: the SDK has checked its input
type Operation = (input: Record<string, any>) => object;

/** A fake of Secrets Manager and Parameter Store, for the clients of the SDK. It does what their API references say of versions and labels. */
export interface AwsKeysServer {
  readonly url: string;
  /** The calls so far, such as `GetSecretValue`. */
  readonly calls: string[];
  /** Called before each call is worked. */
  before: (operation: string) => void | Promise<void>;
  /** What is in a secret: a version id → its text and labels. */
  secret(id: string): ReadonlyMap<string, { readonly text: string; readonly labels: ReadonlySet<string> }>;
  close(): Promise<void>;
}

export async function startAwsKeys(): Promise<AwsKeysServer> {
  const secrets = createSecrets();
  const operations: Readonly<Record<string, Operation>> = { ...secrets.operations, ...createParameters() };
  const calls: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const name = String(request.headers["x-amz-target"]).split(".").at(-1) ?? "";
    calls.push(name);
    await fake.before(name);
    const answer = (status: number, body: object) => {
      response.writeHead(status, { "content-type": "application/x-amz-json-1.1" });
      response.end(JSON.stringify(body));
    };
    try {
      const operation = operations[name];
      if (operation === undefined) throw new Refusal(`UnknownOperation ${name}`);
      answer(200, operation(JSON.parse(Buffer.concat(chunks).toString())));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      answer(400, { __type: error.message, message: error.message });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const fake: AwsKeysServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    before() {},
    secret: secrets.versionsOf,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return fake;
}

interface Version {
  readonly text: string;
  readonly labels: Set<string>;
}

function createSecrets() {
  const secrets = new Map<string, Map<string, Version>>();

  function versionsOf(id: string): Map<string, Version> {
    const versions = secrets.get(id);
    if (versions === undefined) throw new Refusal("ResourceNotFoundException");
    return versions;
  }

  function holderOf(versions: Map<string, Version>, label: string): string | undefined {
    return [...versions].find(([, { labels }]) => labels.has(label))?.[0];
  }

  /** A label is at one version only. AWSPREVIOUS follows AWSCURRENT. */
  function move(versions: Map<string, Version>, label: string, to: string): void {
    const from = holderOf(versions, label);
    if (from === to) return;
    if (from !== undefined) versions.get(from)?.labels.delete(label);
    versions.get(to)?.labels.add(label);
    if (label === "AWSCURRENT" && from !== undefined) move(versions, "AWSPREVIOUS", from);
  }

  function put(versions: Map<string, Version>, id: string, text: string, labels: readonly string[]): object {
    const same = versions.get(id);
    if (same !== undefined && same.text !== text) throw new Refusal("ResourceExistsException");
    if (same === undefined) {
      const isFirst = versions.size === 0;
      versions.set(id, { text, labels: new Set() });
      for (const label of isFirst ? [...labels, "AWSCURRENT"] : labels) move(versions, label, id);
    }
    return { VersionId: id, VersionStages: [...(versions.get(id)?.labels ?? [])] };
  }

  const operations: Record<string, Operation> = {
    CreateSecret({ Name, ClientRequestToken, SecretString }) {
      const known = secrets.get(Name);
      if (known !== undefined && known.get(ClientRequestToken)?.text !== SecretString)
        throw new Refusal("ResourceExistsException");
      const versions = known ?? new Map<string, Version>();
      secrets.set(Name, versions);
      // without a value there is no version yet
      return SecretString === undefined
        ? {}
        : put(versions, ClientRequestToken, SecretString, ["AWSCURRENT"]);
    },
    GetSecretValue({ SecretId, VersionId }) {
      const versions = versionsOf(SecretId);
      const id = VersionId ?? holderOf(versions, "AWSCURRENT") ?? "";
      const version = versions.get(id);
      if (version === undefined) throw new Refusal("ResourceNotFoundException");
      return {
        Name: SecretId,
        VersionId: id,
        SecretString: version.text,
        VersionStages: [...version.labels],
      };
    },
    PutSecretValue({ SecretId, ClientRequestToken, SecretString, VersionStages }) {
      return put(
        versionsOf(SecretId),
        ClientRequestToken ?? randomUUID(),
        SecretString,
        VersionStages ?? ["AWSCURRENT"],
      );
    },
    UpdateSecretVersionStage({ SecretId, VersionStage, MoveToVersionId, RemoveFromVersionId }) {
      const versions = versionsOf(SecretId);
      if (!versions.has(MoveToVersionId)) throw new Refusal("ResourceNotFoundException");
      // "If the label is attached and you either do not specify this parameter, or the version ID does not match, then the operation fails."
      if (holderOf(versions, VersionStage) !== RemoveFromVersionId)
        throw new Refusal("InvalidParameterException");
      move(versions, VersionStage, MoveToVersionId);
      return { Name: SecretId };
    },
  };
  return { operations, versionsOf };
}

function createParameters(): Record<string, Operation> {
  const parameters = new Map<string, string[]>();

  function valuesOf(name: string): string[] {
    const values = parameters.get(name);
    if (values === undefined) throw new Refusal("ParameterNotFound");
    return values;
  }

  return {
    GetParameter({ Name }) {
      const values = valuesOf(Name);
      return { Parameter: { Name, Type: "SecureString", Value: values.at(-1), Version: values.length } };
    },
    GetParameterHistory({ Name, MaxResults, NextToken }) {
      const values = valuesOf(Name);
      const kept = Math.max(0, values.length - 100);
      const start = Number(NextToken ?? kept);
      const page = values.slice(start, start + MaxResults);
      const next = start + MaxResults;
      return {
        Parameters: page.map((Value, index) => ({ Name, Value, Version: start + index + 1 })),
        ...(next < values.length && { NextToken: String(next) }),
      };
    },
    PutParameter({ Name, Value, Overwrite }) {
      const values = parameters.get(Name) ?? [];
      if (values.length > 0 && !Overwrite) throw new Refusal("ParameterAlreadyExists");
      parameters.set(Name, [...values, Value]);
      return { Version: values.length + 1 };
    },
  };
}

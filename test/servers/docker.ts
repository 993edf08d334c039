import { freePort, type TestServer } from "./kept-server.ts";

export interface Image {
  readonly image: string;
  readonly port: number;
  readonly command: readonly string[];
  readonly environment: Record<string, string>;
  url(port: number): string;
  probe(url: string): Promise<void>;
}

/**
 * Starts a server in a container. Undefined when there is no Docker, or Docker cannot start it. Restarts keep its port.
 */
export async function startContainer(image: Image): Promise<TestServer | undefined> {
  // most test files start no container, and would take a third of a second to load this
  const { GenericContainer, getContainerRuntimeClient } = await import("testcontainers");
  const docker = await getContainerRuntimeClient().catch(() => undefined);
  if (docker === undefined) return undefined;
  const host = await freePort();
  const started = await new GenericContainer(image.image)
    .withCommand([...image.command])
    .withEnvironment(image.environment)
    .withExposedPorts({ container: image.port, host })
    .start()
    .catch((error: unknown) => {
      process.stderr.write(
        `Docker cannot start ${image.image}: ${error instanceof Error ? error.message : error}\n`,
      );
    });
  if (started === undefined) return undefined;
  const container = docker.container.getById(started.getId());
  const url = image.url(host);
  const untilItAnswers = async () => {
    for (const giveUpAt = Date.now() + 120_000; ; ) {
      try {
        return await image.probe(url);
      } catch (error) {
        if (Date.now() > giveUpAt) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  };
  await untilItAnswers();
  return {
    url,
    way: `a container of ${image.image}`,
    async start() {
      await container.start();
      await untilItAnswers();
    },
    async stop() {
      await container.stop();
    },
    async kill() {
      await container.kill();
    },
    async pause() {
      await container.pause();
    },
    async resume() {
      await container.unpause();
    },
    async close() {
      await started.stop();
    },
  };
}

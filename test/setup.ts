/** What the tests use and Node.js 22 does not have. The packages do not use it. */
class Resources {
  readonly #ends: (() => unknown)[] = [];

  use<T extends AsyncDisposable>(resource: T): T {
    this.defer(() => resource[Symbol.asyncDispose]());
    return resource;
  }

  defer(end: () => unknown): void {
    this.#ends.push(end);
  }

  async disposeAsync(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.disposeAsync();
  }
}

globalThis.AsyncDisposableStack ??= Resources as unknown as AsyncDisposableStackConstructor;

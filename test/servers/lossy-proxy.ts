import { cuttingProxy } from "./cutting-proxy.ts";

/** A proxy to a server that can lose an answer. */
export interface LossyProxy {
  readonly url: string;
  /** Cuts the connection instead of passing on the server's next answer. */
  loseNextAnswer(): void;
  close(): Promise<void>;
}

export async function lossyProxy(server: { readonly url: string }): Promise<LossyProxy> {
  let lossy = false;
  const { url, close } = await cuttingProxy(server, {
    answer(bytes) {
      const isLost = lossy;
      lossy = false;
      return isLost ? "cut" : bytes;
    },
  });
  return {
    url,
    loseNextAnswer() {
      lossy = true;
    },
    close,
  };
}

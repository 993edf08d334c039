import { type ApiEnvironment, namedEnvironment } from "../base/environment.ts";
import type { StateStore } from "./state-store.ts";

const placed = Symbol.for("esim-webhooks.state-in-environment"); // shared by several copies of this package

/**
 * Returns the states of one environment of the API, in a store that both environments may share: in the test environment, their names begin
 * with `test.`. `reconcile`, `requestSupportReplay` and rotations do this by the environment of their client, and functions without a client
 * by `ESIM_ENVIRONMENT`. Call it yourself if that is not set, and for `stateKeySource`. If it is called twice for a state, the
 * first call decides. Throws `invalid_option` for another `ESIM_ENVIRONMENT`.
 * @param state the shared store
 * @param environment the environment. Default: `ESIM_ENVIRONMENT`, else production
 */
export function stateInEnvironment<State extends Pick<StateStore, "read">>(
  state: State,
  environment: ApiEnvironment | undefined = namedEnvironment(),
): State {
  if (placed in state) return state;
  const prefix = environment === "test" ? "test." : "";
  const view: State = Object.create(state, { [placed]: { value: true } });
  return new Proxy(view, {
    get(_, key) {
      const value: unknown = Reflect.get(state, key, state);
      if (typeof value !== "function") return value;
      if (key !== "read" && key !== "write") return value.bind(state);
      return (name: string, ...rest: unknown[]) => value.call(state, prefix + name, ...rest);
    },
  });
}

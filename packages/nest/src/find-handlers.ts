import { type HandlerContext, WebhookError, type WebhookEvent } from "@esim-webhooks/core";
import { type DiscoveryService, MetadataScanner } from "@nestjs/core";
import type { NestErrorCode } from "./errors.ts";
import { namesOf } from "./on-esim-event.ts";

type Wrapper = ReturnType<DiscoveryService["getProviders"]>[number];
type Instance = Record<string, (event: WebhookEvent, context: HandlerContext) => unknown>;

export interface FoundHandlers {
  /** For `createReceiver` and `createWorker`. */
  readonly handlers: Readonly<Record<string, Instance[string]>>;
  /** Event type → `Faults.onFault (FaultsModule)`. */
  readonly places: Readonly<Record<string, string>>;
}

/** Finds the decorated methods of all providers and controllers. Throws `duplicate_handler`, `scoped_handler` or `no_handlers`. */
export function findHandlers(discovery: DiscoveryService): FoundHandlers {
  const handlers: Record<string, Instance[string]> = {};
  const places: Record<string, string> = {};
  const seen = new Set<unknown>(); // useExisting gives an instance a second token
  const scanner = new MetadataScanner();
  for (const wrapper of [...discovery.getProviders(), ...discovery.getControllers()]) {
    const { instance } = wrapper as { readonly instance: Instance | null | undefined };
    if (typeof instance !== "object" || instance === null || seen.has(instance)) continue;
    seen.add(instance);
    const prototype = Object.getPrototypeOf(instance);
    for (const method of scanner.getAllMethodNames(prototype)) {
      const place = `${prototype.constructor.name}.${method} (${wrapper.host?.name})`;
      for (const name of namesOf(prototype, method)) {
        if (isScoped(wrapper)) throw scoped(place, name);
        if (places[name] !== undefined) throw duplicate(places[name], place, name);
        places[name] = place;
        handlers[name] = (event, context) => instance[method]?.(event, context); // looked up at each event, since a test may replace the method
      }
    }
  }
  if (Object.keys(handlers).length > 0) return { handlers, places };
  throw new WebhookError<NestErrorCode>(
    "no_handlers",
    "No provider has a method with @OnEsimEvent, so every event would be acknowledged and dropped.",
    'Decorate a method with @OnEsimEvent("esim.faulted"), and list its class in the providers of a module that the application imports.',
  );
}

/** Whether Nest makes an instance for each request or each consumer, so that there is none for events. */
function isScoped(wrapper: Wrapper): boolean {
  return wrapper.isTransient || !wrapper.isDependencyTreeStatic();
}

function scoped(place: string, name: string): WebhookError<NestErrorCode> {
  return new WebhookError<NestErrorCode>(
    "scoped_handler",
    `${place} handles "${name}", but its provider, or one that it injects, is transient or request-scoped, so there is no instance to call.`,
    "Give them the default scope, or inject ModuleRef and resolve the scoped provider in the method.",
  );
}

function duplicate(one: string, other: string, name: string): WebhookError<NestErrorCode> {
  return new WebhookError<NestErrorCode>(
    "duplicate_handler",
    `${one} and ${other} both handle "${name}".`,
    "Keep one of them. If they are one class, list it in the providers of one module, which exports it to the other.",
  );
}

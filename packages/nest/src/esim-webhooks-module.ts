import type { Awaitable, EsimEvents } from "@esim-webhooks/core";
import { type DynamicModule, type FactoryProvider, Module } from "@nestjs/common";
import { DiscoveryModule, DiscoveryService, HttpAdapterHost, ModulesContainer } from "@nestjs/core";
import { createClosingWebhooks } from "./closing-webhooks.ts";
import { createEsimWebhooks, EsimWebhooks } from "./esim-webhooks.ts";
import type { EsimWebhooksOptions } from "./esim-webhooks-options.ts";

/** Options of `EsimWebhooksModule.forRootAsync`. */
export interface EsimWebhooksAsyncOptions<Data = EsimEvents, Tx = unknown> {
  /** The modules whose providers are injected. */
  imports?: DynamicModule["imports"];
  /** The tokens of the providers that `useFactory` gets. */
  inject?: FactoryProvider["inject"];
  /** Returns the options. The inbox and the store that it returns are closed with the application. */
  useFactory: (...injected: never[]) => Awaitable<EsimWebhooksOptions<Data, Tx>>;
}

const options = Symbol("EsimWebhooksOptions");

/**
 * Receives deliveries at `/webhooks`, before all middleware, body parsers, guards and pipes, and calls the methods that are decorated with
 * `OnEsimEvent`. Import it once, in the root module; it is global. Starting the application rejects with the errors of `createReceiver` and
 * `createWorker`, and with `no_handlers`, `duplicate_handler` or `scoped_handler`.
 */
// biome-ignore lint/complexity/noStaticOnlyClass: Nest identifies a module by its class
export class EsimWebhooksModule {
  /** Makes the module. Resources in the options, such as an inbox, stay open when the application closes. */
  static forRoot<Data = EsimEvents, Tx = unknown>(given: EsimWebhooksOptions<Data, Tx> = {}): DynamicModule {
    return moduleWith({ provide: options, useFactory: () => given }, createEsimWebhooks);
  }

  /** The same, with options that need other providers or a promise. */
  static forRootAsync<Data = EsimEvents, Tx = unknown>({
    imports = [],
    inject = [],
    useFactory,
  }: EsimWebhooksAsyncOptions<Data, Tx>): DynamicModule {
    return moduleWith({ provide: options, useFactory, inject }, createClosingWebhooks, imports);
  }
}
Module({})(EsimWebhooksModule);

function moduleWith(
  given: FactoryProvider,
  create: typeof createEsimWebhooks,
  imports: NonNullable<DynamicModule["imports"]> = [],
): DynamicModule {
  const webhooks: FactoryProvider = {
    provide: EsimWebhooks,
    inject: [options, HttpAdapterHost, DiscoveryService, ModulesContainer],
    useFactory(
      settings: EsimWebhooksOptions,
      host: HttpAdapterHost,
      discovery: DiscoveryService,
      modules: ModulesContainer,
    ) {
      // Nest starts modules by distance, and stops them in reverse order: this one must start last and stop first, while all that handlers
      // use is running
      for (const module of modules.values()) if (module.metatype === EsimWebhooksModule) module.distance = -1;
      return create(settings, host, discovery);
    },
  };
  return {
    module: EsimWebhooksModule,
    global: true,
    imports: [DiscoveryModule, ...imports],
    providers: [given, webhooks],
    exports: [EsimWebhooks],
  };
}

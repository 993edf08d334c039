import "reflect-metadata";
import { type Catalog, type EsimEvents, type Handlers, WebhookError } from "@esim-webhooks/core";
import type { NestErrorCode } from "./errors.ts";

/** The name that a handler is for: an event type of the catalog, one of its families (`"esim.lifecycle.*"`), or `"*"`. */
export type EsimEventName<Data = EsimEvents> = keyof Handlers<Data> & string;

/** The handler of an event type, a family or `"*"`. */
export type HandlerOf<Data, Name extends EsimEventName<Data>> = NonNullable<Handlers<Data, never>[Name]>;

/**
 * The first parameter of a handler: `EsimEvent<"esim.faulted">`. For a catalog of your own:
 * `EsimEvent<"package.created", DataOf<typeof catalog>>`.
 */
export type EsimEvent<Name extends EsimEventName<Data>, Data = EsimEvents> = Parameters<
  HandlerOf<Data, Name>
>[0];

/**
 * Makes a decorator of methods `(event, context) => …`. The first parameter must accept the events of `name`; the second one is core's
 * `HandlerContext`, and can be left out.
 */
export type EsimEventDecorator<Data = EsimEvents> = <const Name extends EsimEventName<Data>>(
  name: Name,
) => <Method extends HandlerOf<Data, Name>>(
  target: object,
  method: string,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

const key = Symbol.for("esim-webhooks.nest.names");

/**
 * Makes a method of a provider or controller the handler of an event type, of a family, or of all other events:
 * `@OnEsimEvent("esim.faulted")`. The most specific handler runs. Several decorators on one method are possible. Throws
 * `misplaced_decorator` when it is not on a method of an instance.
 */
export const OnEsimEvent: EsimEventDecorator = eventDecorator();

/** Makes a decorator like `OnEsimEvent` for a catalog of your own, whose types it accepts: `const OnEvent = eventDecorator(catalog)`. */
export function eventDecorator<Data = EsimEvents>(_catalog?: Catalog<Data>): EsimEventDecorator<Data> {
  return (name) => (target, method) => {
    if (typeof target === "function") {
      throw new WebhookError<NestErrorCode>(
        "misplaced_decorator",
        `The decorator for "${name}" is on a static method, or TypeScript's legacy decorators are off.`,
        'Put it on a method of the instance, and set "experimentalDecorators": true in tsconfig.json.',
      );
    }
    // kept by the method's name: other decorators replace the function
    const names: readonly string[] = Reflect.getOwnMetadata(key, target, method) ?? [];
    Reflect.defineMetadata(key, [...names, name], target, method);
  };
}

/** Returns the names that a method handles; those of the superclass, if a subclass overrides the method without a decorator. */
export function namesOf(prototype: object, method: string): readonly string[] {
  return Reflect.getMetadata(key, prototype, method) ?? [];
}

import { ProviderError } from '../../platform/kernel/index.ts';

/** `org`: what the organization chose. `open`: no route. Else the id of a route. */
export type RouteChoice = { kind: 'org' | 'open' } | { kind: 'route'; settingId: string };

export const choiceOf = (text: string): RouteChoice =>
  text === 'org' || text === 'open' ? { kind: text } : { kind: 'route', settingId: text };
export const choiceText = (kind: string, settingId: string | null): string =>
  kind === 'route' ? (settingId ?? '') : kind;

/**
 * A route that cannot be used is a fault of the line, whatever its reason: what waits for it is tried again. Nothing
 * goes over the open route instead, and a refused login of the route is none of the channel's.
 */
export const broken = (name: string | undefined, why: string, cause?: unknown): ProviderError =>
  new ProviderError('unavailable', name === undefined ? why : `The route “${name}” cannot be used: ${why}`, { cause });

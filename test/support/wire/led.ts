import type { Outbound, OutboundRequest } from '../../../src/platform/outbound/index.ts';

/** Names the origin that was called, in requests that are led elsewhere. */
export const ORIGIN = 'x-test-origin';

/** The way out of the product, with the requests to some origins led to another server; the guard is the real one. */
export function led(real: Outbound, addressOf: (origin: string) => string | undefined): Outbound {
  const turned =
    <R>(send: (url: string, request: OutboundRequest) => Promise<R>) =>
    (given: string, request: OutboundRequest = {}): Promise<R> => {
      const { origin, pathname, search } = new URL(given);
      const address = addressOf(origin);
      if (address === undefined) return send(given, request);
      return send(address + pathname + search, { ...request, headers: { ...request.headers, [ORIGIN]: origin } });
    };
  return { ...real, fetch: turned(real.fetch), stream: turned(real.stream) };
}

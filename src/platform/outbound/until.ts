import type { OutboundRequest, EgressRoute } from './contract.ts';

/** The same route until the signal is aborted: nothing is sent afterwards, and what is under way is broken off. */
export function until(ended: AbortSignal, route: EgressRoute): EgressRoute {
  const within = (request: OutboundRequest = {}) => ({
    ...request,
    signal: request.signal ? AbortSignal.any([request.signal, ended]) : ended,
  });
  return {
    fetch: (url, request) => route.fetch(url, within(request)),
    stream: (url, request) => route.stream(url, within(request)),
    webSocket(url, protocols) {
      ended.throwIfAborted();
      const socket = route.webSocket(url, protocols);
      const close = () => socket.close();
      ended.addEventListener('abort', close, { once: true });
      socket.addEventListener('close', () => ended.removeEventListener('abort', close));
      return socket;
    },
  };
}

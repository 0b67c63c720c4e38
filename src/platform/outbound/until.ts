import type { OutboundRequest, Way } from './contract.ts';

/** The same way until the signal is aborted: nothing is sent afterwards, and what is under way is broken off. */
export function until(ended: AbortSignal, way: Way): Way {
  const within = (request: OutboundRequest = {}) => ({ ...request, signal: request.signal ? AbortSignal.any([request.signal, ended]) : ended });
  return {
    fetch: (url, request) => way.fetch(url, within(request)),
    stream: (url, request) => way.stream(url, within(request)),
    webSocket(url, protocols) {
      ended.throwIfAborted();
      const socket = way.webSocket(url, protocols);
      const close = () => socket.close();
      ended.addEventListener('abort', close, { once: true });
      socket.addEventListener('close', () => ended.removeEventListener('abort', close));
      return socket;
    },
  };
}

/** A text WebSocket. */
export interface Socket {
  send(text: string): void;
  /** Answers the next text message; undefined when the server has closed or `signal` was aborted. */
  next(signal?: AbortSignal): Promise<string | undefined>;
  close(): void;
}

/** WebSocket connections; every address is checked by the outbound guard after it is resolved. */
export interface Sockets {
  /** Opens `wss://…`; rejects when the connection is refused, or not open within `timeoutMs`. */
  open(url: string, timeoutMs: number): Promise<Socket>;
}

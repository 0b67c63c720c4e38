/** One text WebSocket to an address that passed the outbound guard. */
export interface Socket {
  send(text: string): void;
  /** The next text message; undefined when the other side has closed or `signal` was aborted. */
  next(signal?: AbortSignal): Promise<string | undefined>;
  close(): void;
}

/** The way out over WebSocket; every address passes the outbound guard when it is resolved. */
export interface Sockets {
  /** Opens `wss://…`; rejects when the connection is refused, or not open within `timeoutMs`. */
  open(url: string, timeoutMs: number): Promise<Socket>;
}

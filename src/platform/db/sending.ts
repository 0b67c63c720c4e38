/** A statement of the driver. `state` is set when it was sent: the process that serves its connection. */
export interface Query {
  handler: Handler;
  resolve(result: unknown): void;
  reject(error: unknown): void;
  state: { pid: number | null } | null;
  /** Its text, once it was sent. */
  string?: string;
}
/** How the driver sends a statement. */
export type Handler = (query: Query) => void;

/** A client, or a transaction, whose statements `send` sends by the driver's own handler. */
export function sending<T extends object>(target: T, send: (query: Query, handler: Handler) => void): T {
  let theirs: Handler | undefined;
  let ours: Handler | undefined;
  return new Proxy(target, {
    apply(_, self, args) {
      const made = Reflect.apply(target as never, self, args) as Partial<Query>;
      if (typeof made.handler === 'function') {
        if (theirs !== made.handler) {
          const handler = (theirs = made.handler);
          // with its `debug`, which the driver reads
          ours = Object.assign((query: Query) => send(query, handler), handler);
        }
        made.handler = ours!;
      }
      return made;
    },
  });
}

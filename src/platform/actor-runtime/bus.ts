/**
 * Wake-ups between processes: "there may be something for you". Nothing depends on one arriving; rows and scans carry
 * every guarantee. Implemented in `src/platform/actor-runtime/{embedded,dapr}/bus.ts`.
 */
export interface Bus {
  publish(topic: string, messages: readonly unknown[]): Promise<void>;
  /** Before `start` of the host only. A handler that throws is tried again by the bus, within its bounds. */
  subscribe(topic: string, handler: (message: unknown) => Promise<void>): void;
}

export interface Options {
  readonly engine: 'embedded' | 'dapr';
  readonly quick: boolean;
  readonly pairs: number;
  /** Of the load, where the default is not wanted. */
  readonly size?: number;
  /** By `performance.now()`: no round beyond the pairs begins that would end later. */
  readonly until: number;
  /** For people who watch. */
  say(line: string): void;
}

/** Why a benchmark cannot run on this machine. */
export class CannotRun extends Error {}

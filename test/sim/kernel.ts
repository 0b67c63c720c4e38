import { createHash, type Hash } from 'node:crypto';
import { Random } from '../support/random.ts';

/** A process of the simulation: a host of actors with a clock of its own. */
export interface Process {
  readonly name: string;
  /** Its wall clock is ahead of that of the database by so much. */
  skewMs: number;
  /** Its monotonic clock runs so much faster. */
  readonly rate: number;
  dead: boolean;
  /** Nothing of it goes on before this time. */
  frozenUntil: number;
  /** Until then the database is away for it: its connections are cut before each statement. */
  awayUntil: number;
}

/** Something that can happen next: a statement that waits to be sent, an answer that has arrived, a sleep that is over. */
interface Door {
  /** It does not open before this time. */
  readonly at: number;
  readonly process: Process | undefined;
  readonly label: string;
  open(): unknown;
}

/** Taken before the globals are replaced: what the simulation itself waits by. */
const immediately = setImmediate;
/** Turns of the event loop after which nothing of a process goes on by itself: the driver and buses use some. */
const TURNS = 6;
const NEWEST = 400;
/** A run of more has no end: most of them have a thousand. */
const MOST_STEPS = 60_000;
const MICROSECOND = 0.001;

/**
 * Virtual time, and who goes on next. One door is opened at a time, and what it lets go on runs until nothing can go on
 * without another door: so the seed decides every order there is.
 */
export class Kernel {
  /** By the clock of the database, in milliseconds since 1970. */
  now = START;
  readonly seed: number;
  /** Whose code runs. */
  current: Process | undefined;
  steps = 0;
  /** The newest lines. */
  readonly trace: string[] = [];
  readonly random: Random;
  /** Connections that say hello, and files that are read: real time, in which nobody else goes on. */
  busy: () => boolean = () => false;
  /** Opened in the order of their coming instead of a drawn one. */
  fifo = false;
  /** In the order of their times, and in that of their coming. */
  readonly #doors: Door[] = [];
  readonly #hash: Hash = createHash('sha256');

  constructor(seed: number) {
    this.seed = seed;
    this.random = new Random(seed, 'order');
  }

  /** By the wall clock of the process whose code runs. */
  wall(): number {
    return Math.floor(this.now) + (this.current?.skewMs ?? 0);
  }
  monotonic(): number {
    return (this.now - START) * (this.current?.rate ?? 1);
  }

  /** A line of the trace, which counts for its hash. */
  note(line: string): void {
    const whole = `${((this.now - START) / 1_000).toFixed(3)} ${line}`;
    this.#hash.update(whole).update('\n');
    this.trace.push(whole);
    if (this.trace.length > 2 * NEWEST) this.trace.splice(0, NEWEST);
  }
  get hash(): string {
    return this.#hash.copy().digest('hex').slice(0, 16);
  }

  /** Something that may go on at once, or after `ms` by the clock of the process; answers how it is given up. */
  after(ms: number, process: Process | undefined, label: string, open: () => unknown): () => void {
    const door: Door = { at: this.now + Math.max(0, ms) / (process?.rate ?? 1), process, label, open };
    this.#doors.splice(this.#doors.findLastIndex(({ at }) => at <= door.at) + 1, 0, door);
    return () => this.#remove(door);
  }
  #remove(door: Door): void {
    const at = this.#doors.indexOf(door);
    if (at >= 0) this.#doors.splice(at, 1);
  }
  /** Forgets what waits for a process that is gone. */
  forget(process: Process): void {
    for (const door of this.#doors.filter((one) => one.process === process)) this.#remove(door);
  }

  /** Runs code of a process until nothing of it goes on by itself. */
  async run(process: Process | undefined, work: () => unknown): Promise<void> {
    const before = this.current;
    this.current = process;
    try {
      await work();
      await this.settle();
    } finally {
      this.current = before;
    }
  }
  async settle(): Promise<void> {
    for (let turns = 0; turns < TURNS; turns++) {
      await new Promise<void>((over) => void immediately(over));
      if (this.busy()) turns = 0;
    }
  }

  /**
   * Opens the next door, of `only` where it is given, no later than `until`; false: nothing can happen before that.
   * Where no door is open, time goes on to the next one, or to the end of a freeze.
   */
  async step(until = Infinity, only?: Process): Promise<boolean> {
    const doors = this.#doors.filter(({ process }) => !process?.dead && (!only || process === only));
    const opens = ({ at, process }: Door) => Math.max(at, process?.frozenUntil ?? 0);
    const open = doors.filter((one) => opens(one) <= this.now);
    if (open.length === 0) {
      const next = Math.min(...doors.map(opens));
      const time = Math.min(next, until);
      if (time !== Infinity) this.now = Math.max(this.now, time);
      return next <= until && next !== Infinity;
    }
    const door = this.fifo || only ? open[0]! : this.random.pick(open);
    this.#remove(door);
    this.steps += 1;
    if (this.steps > MOST_STEPS) throw new Error(`no end: ${MOST_STEPS} steps, and it still goes on`);
    this.now += MICROSECOND * this.random.between(50, 2_000);
    this.note(`${door.process?.name ?? '-'} ${door.label}`);
    await this.run(door.process, () => door.open());
    return true;
  }
}

/** When every simulation begins, by the clock of the database: the clocks of Berlin change in the night after it. */
export const START = Date.UTC(2026, 2, 28, 9, 40);

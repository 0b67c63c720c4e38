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
  readonly process: Process | undefined;
  readonly label: string;
  open(): unknown;
}
interface Timer extends Door {
  at: number;
  readonly order: number;
}

/** Taken before the globals are replaced: what the simulation itself waits by. */
const immediately = setImmediate;
/** Turns of the event loop after which nothing of a process goes on by itself: the driver and buses use some. */
const TURNS = 6;
const NEWEST = 400;
const MICROSECOND = 0.001;

/**
 * Virtual time, and who goes on next. One door is opened at a time, and what it lets go on runs until nothing can go on
 * without another door: so the seed decides every order there is.
 */
export class Kernel {
  /** By the clock of the database, in milliseconds since 1970. */
  now: number;
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
  readonly #doors: Door[] = [];
  readonly #timers: Timer[] = [];
  readonly #hash: Hash = createHash('sha256');
  #orders = 0;

  constructor(seed: number, now: number) {
    this.seed = seed;
    this.now = now;
    this.random = new Random(seed, 'order');
  }

  /** By the wall clock of the process whose code runs. */
  wall(process = this.current): number {
    return Math.floor(this.now) + (process?.skewMs ?? 0);
  }
  monotonic(process = this.current): number {
    return (this.now - START) * (process?.rate ?? 1);
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

  door(door: Door): () => void {
    this.#doors.push(door);
    return () => remove(this.#doors, door);
  }
  /** Something after `ms` by the clock of the process; answers how it is given up. */
  after(ms: number, process: Process | undefined, label: string, open: () => unknown): () => void {
    const at = this.now + Math.max(0, ms) / (process?.rate ?? 1);
    const timer: Timer = { at, order: ++this.#orders, process, label, open };
    let place = this.#timers.length;
    while (place > 0 && this.#timers[place - 1]!.at > at) place--;
    this.#timers.splice(place, 0, timer);
    return () => remove(this.#timers, timer);
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

  #can({ process }: Door): boolean {
    return !process || (!process.dead && process.frozenUntil <= this.now);
  }
  /** Forgets what waits for a process that is gone. */
  forget(process: Process): void {
    for (const list of [this.#doors, this.#timers])
      for (let n = list.length - 1; n >= 0; n--) if (list[n]!.process === process) list.splice(n, 1);
  }

  /**
   * Opens the next door, of `only` where it is given, no later than `until`; false: nothing can happen before that.
   * Where no door waits, time goes on to the next timer.
   */
  async step(until = Infinity, only?: Process): Promise<boolean> {
    const mine = (door: Door) => this.#can(door) && (!only || door.process === only);
    const open = [...this.#doors.filter(mine), ...this.#timers.filter((timer) => timer.at <= this.now && mine(timer))];
    if (open.length === 0) return this.#wait(until, only);
    const next = this.fifo || only ? open[0]! : this.random.pick(open);
    for (const list of [this.#doors, this.#timers]) remove<Door>(list, next);
    this.steps += 1;
    this.now += MICROSECOND * this.random.between(50, 2_000);
    this.note(`${next.process?.name ?? '-'} ${next.label}`);
    await this.run(next.process, () => next.open());
    return true;
  }
  /** Lets time go on to the next timer, or to the end of a freeze. */
  #wait(until: number, only: Process | undefined): boolean {
    const times = this.#timers
      .filter(({ process }) => !process?.dead && (!only || process === only))
      .map(({ at, process }) => Math.max(at, process?.frozenUntil ?? 0));
    const freezes = this.#doors.flatMap(({ process }) => (process && !process.dead ? [process.frozenUntil] : []));
    const next = Math.min(...times, ...freezes.filter((at) => at > this.now));
    if (next > until || next === Infinity) {
      if (until !== Infinity) this.now = Math.max(this.now, until);
      return false;
    }
    this.now = Math.max(this.now, next);
    return true;
  }
}

function remove<T>(from: T[], one: T): void {
  const at = from.indexOf(one);
  if (at >= 0) from.splice(at, 1);
}

/** When every simulation begins, by the clock of the database: the clocks of Berlin change in the night after it. */
export const START = Date.UTC(2026, 2, 28, 9, 40);

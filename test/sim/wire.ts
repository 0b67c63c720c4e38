import { EventEmitter } from 'node:events';
import type { KeptSession, KeptSessions, Prepared } from '../support/wire/database/kept-sessions.ts';
import { openPool, openStatements } from '../support/wire/database/postgres-wire.ts';
import type { Kernel, Process } from './kernel.ts';

/**
 * What happens to a statement, or to the last one of a transaction: the connection is cut around it, its process stands
 * still before it reads the answer, or is gone by then.
 */
export type Cut = 'none' | 'before' | 'after' | 'stands' | 'dies';
export interface WireFaults {
  /** Drawn for each statement that stands alone, and for each commit. */
  cut(process: Process, label: string): Cut;
  /** It happened to the process whose statement this was. */
  happened(process: Process, cut: 'stands' | 'dies'): void;
}
interface WireOptions extends WireFaults {
  sessions: KeptSessions;
  kernel: Kernel;
  process: Process;
}

/** A statement, as the trace has it. */
const short = (label: string): string => (label.length > 70 ? `${label.slice(0, 60)}…${label.length}` : label);

/**
 * A connection to the real database: what the driver writes waits for the scheduler, which sends it with the virtual
 * time of that moment, and waits for the whole answer. A transaction is one step: nobody else goes on in it. It has a
 * session of the server for so long, and none while nothing is asked.
 */
class Wire extends EventEmitter {
  readyState: 'open' | 'closed' = 'open';
  readonly #options: WireOptions;
  readonly #statementsOf = openStatements();
  readonly #prepared: Prepared = new Map();
  #stage: 'hello' | 'idle' | 'asked' | 'open' = 'hello';
  #pending: Buffer[] = [];
  #label = '';
  #withdraw: () => void = () => {};

  constructor(options: WireOptions) {
    super();
    this.#options = options;
  }

  get isOver(): boolean {
    return this.readyState === 'closed';
  }

  // What the driver asks of a socket.
  setKeepAlive(): this {
    return this;
  }
  write(bytes: Buffer, done?: () => void): boolean {
    if (this.isOver || this.#options.process.dead) return false;
    if (this.#stage === 'hello') {
      this.#stage = 'idle';
      queueMicrotask(() => this.emit('data', this.#options.sessions.greeting));
    } else {
      this.#pending.push(bytes);
      for (const { text } of this.#statementsOf(bytes)) this.#label = text ?? this.#label;
      if (this.#stage === 'idle') this.#ask();
    }
    done?.();
    return true;
  }
  end(): void {
    this.#close(false);
  }
  destroy(): void {
    this.#close(false);
  }

  /** Closes it as the death of its process does: nobody is told. */
  kill(): void {
    this.removeAllListeners();
    this.#close(false);
  }

  #close(broken: boolean): void {
    if (this.isOver) return;
    this.readyState = 'closed';
    this.#withdraw();
    if (broken) this.emit('error', Object.assign(new Error('The connection was reset'), { code: 'ECONNRESET' }));
    this.emit('close', false);
  }

  #ask(): void {
    this.#stage = 'asked';
    const { kernel, process } = this.#options;
    this.#withdraw = kernel.after(0, process, short(this.#label), () => this.#open());
  }

  async #open(): Promise<void> {
    this.#stage = 'open';
    const session = this.#options.sessions.take();
    try {
      await this.#converse(session);
    } finally {
      await session.release(); // of what was cut, or its process has left, nothing stays
    }
  }
  async #converse(session: KeptSession): Promise<void> {
    const { kernel, process, cut, happened } = this.#options;
    const isTransaction = this.#label.startsWith('begin');
    let cutting: Cut = isTransaction ? 'none' : cut(process, this.#label);
    let time: string | undefined = `set sim.now = '${new Date(kernel.now).toISOString()}'`;
    for (;;) {
      const bytes = Buffer.concat(this.#pending);
      if (isTransaction && bytes.includes('commit\0')) cutting = cut(process, 'commit');
      if (cutting === 'before') return this.#break('before');
      this.#pending = [];
      const answer = await session.ask(bytes, this.#prepared, time);
      time = undefined;
      if (this.isOver) return;
      const isEnd = session.isIdle && !session.isDescribing;
      if (isEnd && cutting === 'after') return this.#break('after');
      if (isEnd && (cutting === 'stands' || cutting === 'dies')) {
        happened(process, cutting);
        if (cutting === 'stands') this.#withdraw = kernel.after(0, process, 'reads', () => this.#tell(answer));
        return;
      }
      if (isEnd) return this.#tell(answer);
      this.emit('data', answer);
      await kernel.settle();
      // a transaction that waits for something else of its process: that goes on meanwhile
      while (this.#pending.length === 0 && !this.isOver)
        if (!(await kernel.step(Infinity, process)))
          throw new Error(`A transaction waits for what never comes: ${this.#label}`);
      if (this.isOver) return;
    }
  }
  /** Hands the driver the end of an answer; what it has written meanwhile is asked next. */
  #tell(answer: Buffer): void {
    this.#stage = 'idle';
    this.emit('data', answer);
    if (this.#stage === 'idle' && this.#pending.length > 0 && !this.isOver) this.#ask();
  }
  #break(when: Cut): void {
    const { kernel, process } = this.#options;
    kernel.note(`${process.name} cut ${when} ${short(this.#label)}`);
    this.#close(true);
  }
}

/** The connections of one process, and its pool, which is opened as the product opens its own. */
export function openWires(options: WireOptions) {
  const wires = new Set<Wire>();
  const sql = openPool('postgres://sim@localhost/sim', options.process.name, {
    max: 4,
    socket: () => {
      for (const wire of wires) if (wire.isOver) wires.delete(wire);
      const wire = new Wire(options);
      wires.add(wire);
      return wire;
    },
    connect_timeout: 10,
    backoff: (attempt: number) => Math.min(0.05 * 2 ** attempt, 2),
  });
  return {
    sql,
    kill() {
      for (const wire of wires) wire.kill();
      wires.clear();
    },
  };
}

import { EventEmitter } from 'node:events';
import { connect, type Socket } from 'node:net';
import {
  FLUSH,
  messagesOf,
  openPool,
  openStatements,
  QUERY,
  READY,
  SYNC,
} from '../support/wire/database/postgres-wire.ts';
import type { Kernel, Process } from './kernel.ts';

const ERROR = 69; // E
const IDLE = 73; // I
/** What ends the answer to a statement that is only described. */
const DESCRIBED = new Set([84, 110, ERROR]); // T, n, E

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
  url: URL;
  kernel: Kernel;
  process: Process;
}

/** A statement, as the trace has it. */
const short = (label: string): string => (label.length > 70 ? `${label.slice(0, 60)}…${label.length}` : label);

/** A statement by itself, as a message of the protocol. */
const queryOf = (sql: string): Buffer => {
  const bytes = Buffer.from(`Q0000${sql}\0`);
  bytes.writeInt32BE(bytes.length - 1, 1);
  return bytes;
};

/**
 * A connection to the real database: what the driver writes waits for the scheduler, which sends it with the virtual
 * time of that moment, and waits for the whole answer. A transaction is one step: nobody else goes on in it.
 */
class Wire extends EventEmitter {
  readyState: 'open' | 'closed' = 'open';
  readonly #options: WireOptions;
  readonly #upstream: Socket;
  readonly #statementsOf = openStatements();
  #stage: 'hello' | 'idle' | 'asked' | 'open' = 'hello';
  #pending: Buffer[] = [];
  #came: Buffer = Buffer.alloc(0);
  #asked = 0;
  #swallow = 0;
  #flushes = false;
  #status = IDLE;
  #answered: (() => void) | undefined;
  #label = '';
  #withdraw: () => void = () => {};

  constructor(options: WireOptions) {
    super();
    this.#options = options;
    const { hostname, port } = options.url;
    this.#upstream = connect({ host: hostname, port: Number(port || 5432), noDelay: true });
    this.#upstream.on('data', (bytes) => this.#read(bytes));
    // the database has ended it, which it does only when the test does
    for (const end of ['error', 'close'])
      this.#upstream.on(end, () => void (options.process.dead || this.#close(true)));
  }

  get isBusy(): boolean {
    return this.#stage === 'hello' && this.readyState === 'open';
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
    if (this.#stage === 'hello') this.#upstream.write(bytes);
    else {
      this.#pending.push(bytes);
      for (const { text } of this.#statementsOf(bytes)) this.#label = text ?? this.#label;
      if (this.#stage === 'idle') this.#ask();
    }
    done?.();
    return true;
  }
  end(bytes?: Buffer): void {
    if (this.isOver) return;
    if (bytes) this.#upstream.end(bytes);
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
    this.#upstream.destroy();
    if (broken) this.emit('error', Object.assign(new Error('The connection was reset'), { code: 'ECONNRESET' }));
    this.emit('close', false);
    this.#answered?.();
  }

  #ask(): void {
    this.#stage = 'asked';
    const { kernel, process } = this.#options;
    this.#withdraw = kernel.after(0, process, short(this.#label), () => this.#open());
  }

  async #open(): Promise<void> {
    const { kernel, process, cut, happened } = this.#options;
    this.#stage = 'open';
    const isTransaction = this.#label.startsWith('begin');
    let cutting: Cut = isTransaction ? 'none' : cut(process, this.#label);
    if (cutting === 'before') return this.#break('before');
    let time = [queryOf(`set sim.now = '${new Date(kernel.now).toISOString()}'`)];
    for (;;) {
      const bytes = Buffer.concat([...time, ...this.#pending]);
      if (isTransaction && bytes.includes('commit\0')) cutting = cut(process, 'commit');
      if (cutting === 'before') {
        await this.#exchange(queryOf('rollback'), 1);
        return this.#break('before');
      }
      this.#pending = [];
      await this.#exchange(bytes, time.length);
      time = [];
      if (this.isOver) return;
      if (cutting === 'after') return this.#break('after');
      const answer = this.#take();
      const isEnd = !this.#flushes && this.#status === IDLE;
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

  /** Sends, and waits until each question in it has its answer. `swallow`: answers that are not the driver's. */
  async #exchange(bytes: Buffer, swallow: number): Promise<void> {
    const types = [...messagesOf(bytes)].map(({ type }) => type);
    this.#swallow = swallow;
    this.#asked = types.filter((type) => type === SYNC || type === QUERY).length - swallow;
    this.#flushes = types.at(-1) === FLUSH;
    const answered = new Promise<void>((resolve) => void (this.#answered = resolve));
    this.#upstream.write(bytes);
    await answered;
    this.#answered = undefined;
  }
  #take(): Buffer {
    const answer = this.#came;
    this.#came = Buffer.alloc(0);
    return answer;
  }

  /** Hands on a greeting, and the answer to all that was asked, when it is whole. */
  #read(bytes: Buffer): void {
    if (this.isOver) return;
    this.#came = Buffer.concat([this.#came, bytes]);
    let kept = 0;
    let ready = 0;
    let described = false;
    let skipped = 0;
    for (const { type, whole, end } of messagesOf(this.#came)) {
      kept = end;
      if (type === READY) {
        this.#status = whole[5]!;
        if (ready < this.#swallow) skipped = end;
        ready += 1;
      } else if (DESCRIBED.has(type) && ready === this.#asked + this.#swallow) described = true;
    }
    if (kept < this.#came.length) return;
    if (this.#stage === 'hello') {
      if (ready > 0) this.#stage = 'idle';
      this.emit('data', this.#take());
    } else if (ready >= this.#asked + this.#swallow && (!this.#flushes || described)) {
      this.#came = this.#came.subarray(skipped);
      this.#answered?.();
    }
  }
}

/** The connections of one process, and its pool, which is opened as the product opens its own. */
export function openWires(options: WireOptions) {
  const wires = new Set<Wire>();
  const sql = openPool(options.url.href, options.process.name, {
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
    get isBusy() {
      return [...wires].some(({ isBusy }) => isBusy);
    },
    kill() {
      for (const wire of wires) wire.kill();
      wires.clear();
    },
  };
}

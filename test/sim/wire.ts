import { EventEmitter } from 'node:events';
import { connect, type Socket } from 'node:net';
import postgres from 'postgres';
import type { Database } from '../../src/platform/db/index.ts';
import { ARRAY_TYPES } from '../../src/platform/db/arrays.ts';
import type { Kernel, Process } from './kernel.ts';

const SYNC = 83; // S
const QUERY = 81; // Q
const PARSE = 80; // P
const BIND = 66; // B
const FLUSH = 72; // H
const READY = 90; // Z
const ERROR = 69; // E
const IDLE = 73; // I
/** What ends the answer to a statement that is only described. */
const DESCRIBED = new Set([84, 110, ERROR]); // T, n, E

/**
 * What happens to a statement, or to the last one of a transaction: the connection is cut around it, its process stands
 * still before it reads the answer, or is gone by then.
 */
export type Cut = 'none' | 'before' | 'after' | 'stands' | 'dies';
export interface WireOptions {
  url: URL;
  kernel: Kernel;
  process: Process;
  /** Drawn for each statement that stands alone, and for each commit. */
  cut(label: string): Cut;
  /** It happened to the process whose statement this was. */
  happened(cut: 'stands' | 'dies'): void;
}

const reset = () => Object.assign(new Error('The connection was reset'), { code: 'ECONNRESET' });
/** A statement in one line, as the trace has it. */
const labelOf = (sql: string): string =>
  sql
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s+/g, ' ')
    .trim();
const short = (label: string): string => (label.length > 70 ? `${label.slice(0, 60)}…${label.length}` : label);

/** A message of the protocol, with its type and its length. */
const messageOf = (type: number, body: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head[0] = type;
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
function* messagesOf(bytes: Buffer): Generator<{ type: number; whole: Buffer }> {
  for (let at = 0; at + 5 <= bytes.length;) {
    const end = at + 1 + bytes.readInt32BE(at + 1);
    if (end > bytes.length) return;
    yield { type: bytes[at]!, whole: bytes.subarray(at, end) };
    at = end;
  }
}
const textAt = (bytes: Buffer, from: number): string => bytes.toString('utf8', from, bytes.indexOf(0, from));

/**
 * A connection to the real database: what the driver writes waits for the scheduler, which sends it with the virtual
 * time of that moment, and waits for the whole answer. A transaction is one step: nobody else goes on in it.
 */
class Wire extends EventEmitter {
  readyState: 'open' | 'closed' = 'open';
  readonly #options: WireOptions;
  readonly #upstream: Socket;
  /** Parts of statements by the names under which the driver has prepared them. */
  readonly #prepared = new Map<string, string>();
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
    this.#upstream.on('error', () => this.#lose());
    this.#upstream.on('close', () => this.#lose());
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
      this.#name(bytes);
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
    this.readyState = 'closed';
    this.#withdraw();
    this.removeAllListeners();
    this.#upstream.destroy();
  }

  #close(broken: boolean): void {
    if (this.isOver) return;
    this.readyState = 'closed';
    this.#withdraw();
    this.#upstream.destroy();
    if (broken) this.emit('error', reset());
    this.emit('close', false);
    this.#answered?.();
  }
  /** The database has ended it, which it does only when the test does. */
  #lose(): void {
    if (!this.isOver && !this.#options.process.dead) this.#close(true);
  }

  /** Learns what is asked, from what the driver writes: whole messages. */
  #name(written: Buffer): void {
    for (const { type, whole } of messagesOf(written)) {
      if (type === PARSE) {
        const name = textAt(whole, 5);
        this.#prepared.set(name, (this.#label = labelOf(textAt(whole, 6 + Buffer.byteLength(name)))));
      } else if (type === BIND) {
        const name = textAt(whole, 6 + Buffer.byteLength(textAt(whole, 5)));
        this.#label = this.#prepared.get(name) ?? name;
      } else if (type === QUERY) this.#label = labelOf(textAt(whole, 5));
    }
  }
  #ask(): void {
    this.#stage = 'asked';
    const { kernel, process } = this.#options;
    this.#withdraw = kernel.door({ process, label: short(this.#label), open: () => this.#open() });
  }

  async #open(): Promise<void> {
    const { kernel, process, cut, happened } = this.#options;
    this.#stage = 'open';
    const asked = this.#label;
    const isTransaction = asked.startsWith('begin');
    let cutting: Cut = isTransaction ? 'none' : cut(this.#label);
    if (cutting === 'before') return this.#break('before');
    let time: Buffer | undefined = messageOf(
      QUERY,
      Buffer.from(`set sim.now = '${new Date(kernel.now).toISOString()}'\0`),
    );
    for (;;) {
      const bytes = Buffer.concat([...(time ? [time] : []), ...this.#pending]);
      const isCommit = isTransaction && bytes.includes('commit\0');
      if (isCommit) cutting = cut('commit');
      if (cutting === 'before') {
        await this.#exchange(messageOf(QUERY, Buffer.from('rollback\0')), 1);
        return this.#break('before');
      }
      this.#pending = [];
      await this.#exchange(bytes, time ? 1 : 0);
      time = undefined;
      if (this.isOver) return;
      if (cutting === 'after') return this.#break('after');
      const answer = this.#take();
      const isEnd = !this.#flushes && this.#status === IDLE;
      if (isEnd && (cutting === 'stands' || cutting === 'dies')) {
        happened(cutting);
        if (cutting === 'stands')
          this.#withdraw = kernel.door({ process, label: 'reads', open: () => this.#tell(answer) });
        return;
      }
      if (isEnd) return this.#tell(answer);
      this.emit('data', answer);
      await kernel.settle();
      // a transaction that waits for something else of its process: that goes on meanwhile
      while (this.#pending.length === 0 && !this.isOver) {
        const at = kernel.now;
        if (!(await kernel.step(Infinity, process)) && kernel.now === at)
          throw new Error(`A transaction waits for what never comes: ${this.#label}`);
      }
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

  #read(bytes: Buffer): void {
    if (this.isOver) return;
    if (this.#stage === 'hello') {
      this.#came = Buffer.concat([this.#came, bytes]);
      let last = 0;
      let size = 0;
      for (const { type, whole } of messagesOf(this.#came)) [last, size] = [type, size + whole.length];
      if (size < this.#came.length) return;
      if (last === READY) this.#stage = 'idle';
      this.emit('data', this.#take());
      return;
    }
    this.#came = Buffer.concat([this.#came, bytes]);
    this.#judge();
  }
  /** Whether all that was asked is answered by now. */
  #judge(): void {
    let kept = 0;
    let ready = 0;
    let described = false;
    let skipped = 0;
    for (const { type, whole } of messagesOf(this.#came)) {
      kept += whole.length;
      if (type === READY) {
        this.#status = whole[5]!;
        if (ready < this.#swallow) skipped = kept;
        ready += 1;
      } else if (DESCRIBED.has(type) && ready === this.#asked + this.#swallow) described = true;
    }
    if (kept < this.#came.length) return;
    if (ready < this.#asked + this.#swallow || (this.#flushes && !described)) return;
    this.#came = this.#came.subarray(skipped);
    this.#answered?.();
  }
}

/** The connections of one process, and its pool, which is opened as the product opens its own. */
export function openWires(options: WireOptions) {
  const wires = new Set<Wire>();
  const sql = postgres(options.url.href, {
    max: 4,
    socket: () => {
      for (const wire of wires) if (wire.isOver) wires.delete(wire);
      const wire = new Wire(options);
      wires.add(wire);
      return wire;
    },
    connect_timeout: 10,
    backoff: (attempt: number) => Math.min(0.05 * 2 ** attempt, 2),
    onnotice: () => {},
    fetch_types: false,
    types: ARRAY_TYPES,
    connection: { application_name: options.process.name, timezone: 'UTC' },
  } as unknown as postgres.Options<{}>) as Database;
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

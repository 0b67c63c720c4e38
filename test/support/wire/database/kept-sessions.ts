import { connect, type Socket } from 'node:net';
import { BIND, DESCRIBE, FLUSH, messagesOf, openPool, PARSE, QUERY, READY, SYNC, textAt } from './postgres-wire.ts';

// Sessions of a server that many connections use in turn, a transaction at a time, as behind a pooler. What was
// prepared on a session stays prepared there, whoever asks for it next.

const [CLOSED, PARSED, ERROR, IDLE] = [51, 49, 69, 73]; // 3, 1, E, I
/** What ends the answer to a statement that is only described. */
const DESCRIBED = new Set([84, 110, ERROR]); // T, n, E
/** What a server says of itself in its greeting. */
const SAID = new Set([83, 75]); // S, K

/** A message of the protocol of texts, which end with a zero, and of bytes as they are. */
function messageOf(type: string, ...parts: readonly (string | Buffer)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(`${part}\0`) : part)));
  const head = Buffer.from(`${type}0000`);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
/** Closes what is not there, which is no error: it stands for what was prepared already, and is answered in its place. */
const NOTHING = messageOf('C', 'Snothing');
const SYNCED = messageOf('S');

/** What a connection has prepared: by the names that it gives, texts with the types of their parameters. */
export type Prepared = Map<string, string>;

/** One session of the server. */
class KeptSession {
  isFree = true;
  /** No transaction is open. */
  isIdle = true;
  /** What was asked last was what a statement is: its run comes next. */
  isDescribing = false;
  readonly #socket: Socket;
  /** Names on the server by what they stand for. */
  readonly #kept = new Map<string, string>();
  /** What the server has answered to whoever asked what a statement is. */
  readonly #described = new Map<string, Buffer>();
  /** To be sent before what comes next. */
  #first: Buffer | undefined;
  /** The server waits for the end of what it was asked. */
  #isUnended = false;
  #named = 0;
  #came: Buffer = Buffer.alloc(0);
  #answered: ((answer: Buffer) => void) | undefined;
  #left = 0;
  #read = 0;
  #flushes = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes) => this.#hear(bytes));
  }

  /** Sends what a connection has written, after the statement `first`, and answers what the server says to it. */
  async ask(written: Buffer, prepared: Prepared, first?: string): Promise<Buffer> {
    if (first !== undefined) this.#first = messageOf('Q', first);
    const fresh: string[] = [];
    const sent: Buffer[] = [];
    let asked = '';
    let types = '';
    for (const { type, whole } of messagesOf(written)) {
      types += String.fromCharCode(type);
      // of a bind, the name of a portal comes before that of the statement
      const at = type === BIND ? 6 + Buffer.byteLength(textAt(whole, 5)) : type === DESCRIBE ? 6 : 5;
      const end = whole.indexOf(0, at) + 1;
      if (type === PARSE) {
        asked = whole.toString('latin1', end);
        prepared.set(textAt(whole, at), asked);
        if (this.#kept.has(asked)) sent.push(NOTHING);
        else {
          fresh.push(asked);
          sent.push(this.#parse(asked));
        }
      } else if (type === BIND || type === DESCRIBE) {
        const statement = prepared.get(textAt(whole, at))!;
        // it was prepared on another session
        if (!this.#kept.has(statement)) await this.#exchange(Buffer.concat([this.#parse(statement), SYNCED]));
        const name = this.#kept.get(statement)!;
        sent.push(messageOf(type === BIND ? 'B' : 'D', whole.subarray(5, at), name, whole.subarray(end)));
      } else sent.push(whole);
    }
    this.isDescribing = types.endsWith('H');
    const isQuestion = types === 'PDH';
    const known = isQuestion && fresh.length === 0 ? this.#described.get(asked) : undefined;
    if (known) return known;
    const answer = await this.#tell(Buffer.concat(sent), fresh);
    const isWhat = isQuestion && [...messagesOf(answer)].every(({ type }) => type !== ERROR);
    if (isWhat) this.#described.set(asked, answer);
    return answer;
  }
  async #tell(sent: Buffer, fresh: readonly string[]): Promise<Buffer> {
    let isFirst = this.#first !== undefined;
    const whole = this.#first ? Buffer.concat([this.#first, sent]) : sent;
    this.#first = undefined;
    let answer = await this.#exchange(whole);
    for (const { type, whole: message, end } of messagesOf(answer)) {
      if (type === CLOSED) message[0] = PARSED;
      // maybe one that is there as well, under a name that nobody uses
      if (type === ERROR) for (const statement of fresh) this.#kept.delete(statement);
      if (isFirst && type === READY) {
        answer = answer.subarray(end);
        isFirst = false;
      }
    }
    return answer;
  }
  /** Ends what its connection has left behind. */
  async release(): Promise<void> {
    this.#first = undefined;
    if (this.#isUnended) await this.#exchange(SYNCED);
    if (!this.isIdle) await this.#exchange(messageOf('Q', 'rollback'));
    this.isFree = true;
  }
  end(): void {
    this.#socket.destroy();
  }

  #parse(statement: string): Buffer {
    const name = `kept${++this.#named}`;
    this.#kept.set(statement, name);
    return messageOf('P', name, Buffer.from(statement, 'latin1'));
  }
  /** Sends, and waits until each question in it has its answer. */
  #exchange(bytes: Buffer): Promise<Buffer> {
    let last = 0;
    for (const { type } of messagesOf(bytes)) {
      last = type;
      if (type === SYNC || type === QUERY) this.#left += 1;
    }
    this.#flushes = this.#isUnended = last === FLUSH;
    return new Promise((resolve) => {
      this.#answered = resolve;
      this.#socket.write(bytes);
    });
  }
  #hear(bytes: Buffer): void {
    this.#came = this.#came.length === 0 ? bytes : Buffer.concat([this.#came, bytes]);
    for (const { type, whole } of messagesOf(this.#came.subarray(this.#read))) {
      this.#read += whole.length;
      if (type === READY) {
        this.#left -= 1;
        this.isIdle = whole[5] === IDLE;
      } else if (DESCRIBED.has(type) && this.#left === 0) this.#flushes = false;
    }
    if (this.#left > 0 || this.#flushes || this.#read < this.#came.length) return;
    const answer = this.#came;
    this.#came = Buffer.alloc(0);
    this.#read = 0;
    this.#answered?.(answer);
  }
}
export type { KeptSession };

/** Opens so many sessions. */
export async function openKeptSessions(url: string, count: number) {
  const said: Buffer[] = [];
  const sessions: KeptSession[] = [];
  const { hostname, port } = new URL(url);
  for (let n = 0; n < count; n++) {
    // the driver logs in, and its connection is taken from it
    const socket = connect({ host: hostname, port: Number(port || 5432), noDelay: true });
    socket.on('data', (bytes) => n === 0 && said.push(bytes));
    const driver = openPool(url, 'kept', { max: 1, socket: () => socket, idle_timeout: null, max_lifetime: null });
    await driver`select`;
    socket.removeAllListeners();
    sessions.push(new KeptSession(socket));
  }
  const greets = [...messagesOf(Buffer.concat(said))].filter(({ type }) => SAID.has(type)).map(({ whole }) => whole);
  return {
    /** What the server says to whoever connects. */
    greeting: Buffer.concat([messageOf('R', Buffer.alloc(4)), ...greets, messageOf('Z', Buffer.from('I'))]),
    /** The first one that nobody uses, until it is released. */
    take(): KeptSession {
      const free = sessions.find(({ isFree }) => isFree);
      if (!free) throw new Error(`All ${count} sessions are within transactions`);
      free.isFree = false;
      return free;
    },
    /** Has everything planned anew. */
    async discardPlans(): Promise<void> {
      for (const one of sessions) await one.ask(messageOf('Q', 'discard plans'), new Map());
    },
    end: () => sessions.forEach((one) => one.end()),
  };
}
export type KeptSessions = Awaited<ReturnType<typeof openKeptSessions>>;

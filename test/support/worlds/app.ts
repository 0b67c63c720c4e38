import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { startApi } from '../../../api/main.ts';
import type { AnyRoute } from '../../../api/http/route.ts';
import type { Answered } from '../../../api/app.ts';
import { actorTypes } from '../../../actors/host/start.ts';
import { dueReminder } from '../../../actors/channel/contract.ts';
import { readConfig } from '../../../src/platform/config/index.ts';
import { type ContextOptions, type EngineAndBus, openContext } from '../../../src/context.ts';
import type { Database } from '../../../src/platform/db/index.ts';
import { AppError, type Clock } from '../../../src/platform/kernel/index.ts';
import { quietLog } from './quiet-log.ts';
import { JWT_SECRET } from './secret.ts';

export { JWT_SECRET };

interface Options {
  sql: Database;
  /** On top of a development configuration with every rate limit a thousand times as wide. */
  env?: Record<string, string>;
  routes?: readonly AnyRoute[];
  clock?: Clock;
  /** The engine of a process that hosts the actors; without one every call of an actor is refused. */
  engine?: EngineAndBus;
  /** A payment processor in the place of the real one. */
  paymentsServer?: string;
  /** Base addresses of providers in the place of their own, by `domain/id`. */
  servers?: Readonly<Record<string, string>>;
  /** Providers beside the product's own. */
  adapters?: NonNullable<ContextOptions['adapters']>;
  /** Names, sockets and trusted certificates of outgoing calls. */
  network?: NonNullable<ContextOptions['network']>;
  /** Handlers that run at a time. */
  atWork?: number;
}

/** Mail for an app without a sender: with `WITH_MAIL` in its environment it is queued, to be read by `mailsOf`. */
export const WITH_MAIL = {
  EMAIL_PROVIDER: 'smtp',
  EMAIL_SMTP_HOST: '127.0.0.1',
  EMAIL_FROM_ADDRESS: 'no-reply@example.com',
};

const refused = () => Promise.reject(new AppError('unavailable', 'No actors here'));
/** As where the engine is away: every call is refused, and nothing waits. */
export const noEngine: EngineAndBus = {
  engine: {
    isAlone: false,
    name: 'embedded',
    invoke: refused,
    remind: refused,
    remindWithin: refused,
    remindIn: (sql) => sql``,
    reminded: () => {},
    forget: refused,
    host: refused,
    heartbeatAgeMs: () => Infinity,
    steadySince: () => Infinity,
    reminderCounts: async () => ({ pending: 0, overdue: 0 }),
    runtimeReport: async () => undefined,
  },
  bus: { publish: refused, subscribe: () => undefined },
};

/** The product without actor hosts on a free port of 127.0.0.1, over the database of the test. */
export async function testApp({ sql, env = {}, routes, clock, engine = noEngine, atWork, ...parts }: Options) {
  await using opened = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'rookery-app-'));
  opened.defer(() => rmSync(folder, { recursive: true, force: true }));
  const { config } = readConfig({
    JWT_SECRET,
    PORT: '0',
    BACKEND_LISTEN_HOST: '127.0.0.1',
    RATE_LIMIT_SCALE: '1000',
    DATA_FOLDER: folder,
    ...env,
  });
  const log = quietLog();
  const context = opened.use(
    await openContext(config, {
      logs: { of: () => log },
      actorTypes,
      channelReminder: dueReminder,
      sandboxUrl: undefined,
      sql,
      engine,
      ...(clock && { clock }),
      ...parts,
    }),
  );
  const answered: Answered[] = [];
  const note = (one: Answered) => {
    answered.push(one);
    if (one.error?.code === 'internal')
      process.stderr.write(`${one.method} ${one.route}: ${inspect(one.error.cause)}\n`);
  };
  const api = opened.use(
    await startApi(context, {
      ...(routes && { routes }),
      ...(atWork !== undefined && { atWork }),
      checkAnswers: true,
      onAnswer: note,
    }),
  );
  const end = opened.move();
  return {
    context,
    /** Everything that was logged. */
    log,
    address: api.address,
    /** One entry for each request, in the order of their answers. */
    answered,
    client: () => new Client(api.address),
    /** A client that is logged in as the owner of a new org. */
    signUp: (person: Partial<Person> = {}) => signUp(api.address, person),
    close: () => api[Symbol.asyncDispose](),
    [Symbol.asyncDispose]: () => end.disposeAsync(),
  };
}
export type TestApp = Awaited<ReturnType<typeof testApp>>;

export interface Person {
  email: string;
  password: string;
  company: string;
}
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  body: any; // oxlint-disable-line typescript/no-explicit-any -- judged by each test
}

/** A small browser: keeps cookies, and repeats `csrf_token` in the header unless told otherwise. */
export class Client {
  readonly address: string;
  readonly cookies = new Map<string, string>();
  /** Sent with each request. */
  headers: Record<string, string> = {};

  constructor(address: string) {
    this.address = address;
  }

  get csrf(): string | undefined {
    return this.cookies.get('csrf_token');
  }

  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string | undefined> = {},
  ): Promise<Answer> {
    const sent = new Headers();
    if (this.cookies.size > 0)
      sent.set('cookie', [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '));
    if (this.csrf) sent.set('x-csrf-token', this.csrf);
    const isRaw = typeof body === 'string' || body instanceof Uint8Array || body instanceof FormData;
    if (body !== undefined && !(body instanceof FormData)) sent.set('content-type', 'application/json');
    if (/\/stream(\?|$)|^\/ai\/.*\/events(\?|$)/.test(path)) sent.set('accept', 'application/json'); // a stream of events has no end to wait for
    for (const [name, value] of Object.entries({ ...this.headers, ...headers })) {
      if (value === undefined) sent.delete(name);
      else sent.set(name, value);
    }
    const response = await fetch(this.address + path, {
      method,
      headers: sent,
      redirect: 'manual',
      ...(body !== undefined && { body: isRaw ? (body as string) : JSON.stringify(body) }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...flags] = line.split('; ');
      const at = pair.indexOf('=');
      if (flags.includes('Max-Age=0')) this.cookies.delete(pair.slice(0, at));
      else this.cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    const text = await response.text();
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      parsed = undefined;
    }
    return { status: response.status, headers: response.headers, text, body: parsed };
  }

  get = (path: string, headers?: Record<string, string | undefined>) => this.send('GET', path, undefined, headers);
  post = (path: string, body?: unknown, headers?: Record<string, string | undefined>) =>
    this.send('POST', path, body, headers);
  put = (path: string, body?: unknown, headers?: Record<string, string | undefined>) =>
    this.send('PUT', path, body, headers);
  delete = (path: string, body?: unknown, headers?: Record<string, string | undefined>) =>
    this.send('DELETE', path, body, headers);
}

export async function signUp(address: string, given: Partial<Person>) {
  const person: Person = {
    email: `${randomUUID()}@example.com`,
    password: 'correct horse battery',
    company: 'Acme Ltd',
    ...given,
  };
  const client = new Client(address);
  const registered = await client.post('/auth/register', { provider: 'LOCAL', ...person });
  if (registered.status !== 200) throw new Error(`Signing up failed: ${registered.text}`);
  const { body: self } = await client.get('/user/self');
  return {
    ...person,
    client,
    userId: self.id as string,
    orgId: self.orgId as string,
    /** Makes an API key and answers a client that uses it. */
    async withKey() {
      const { body } = await client.post('/user/api-keys', { name: 'test' });
      const program = new Client(address);
      program.headers = { authorization: body.plaintext };
      return Object.assign(program, { key: body.plaintext as string });
    },
  };
}
export type SignedUp = Awaited<ReturnType<typeof signUp>>;

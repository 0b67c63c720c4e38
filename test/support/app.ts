import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { startApi } from '../../api/main.ts';
import type { AnyRoute } from '../../api/http/route.ts';
import type { Answered } from '../../api/app.ts';
import type { Actors } from '../../src/actor-runtime/index.ts';
import { openAuth } from '../../src/auth/index.ts';
import { openMemoryCache } from '../../src/cache/index.ts';
import { readConfig } from '../../src/config/config.ts';
import { type Context, openPaymentsOf } from '../../src/context.ts';
import type { Database } from '../../src/db/index.ts';
import { openAdmin, openErrorLog } from '../../src/admin/index.ts';
import { pauseQueue, resumeQueue, stopAll } from '../../src/channels/index.ts';
import { openEmail } from '../../src/email/index.ts';
import { openIdentity } from '../../src/identity/index.ts';
import { openMembers } from '../../src/members/index.ts';
import { urlOfKey } from '../../src/media/index.ts';
import { AppError, type Clock, openVault, systemClock } from '../../src/kernel/index.ts';
import { openOAuth } from '../../src/oauth/index.ts';
import { openOrganizations } from '../../src/organizations/index.ts';
import { openOutbound } from '../../src/outbound/index.ts';
import { openProviders } from '../../src/providers/index.ts';
import { openEvents, openMetrics } from '../../src/telemetry/index.ts';
import { testBilling } from './billing.ts';
import { quietLog } from './quiet-log.ts';

export const JWT_SECRET = 'a-secret-of-the-tests-that-is-long-enough';

interface Options {
  sql: Database;
  /** On top of a development configuration with every rate limit a thousand times as wide. */
  env?: Record<string, string>;
  routes?: readonly AnyRoute[];
  clock?: Clock;
  /** A payment processor in the place of the real one. */
  paymentsServer?: string;
  /** Rooms that the test brings, or other ones in the place of these. */
  context?: (base: Context) => Partial<Context>;
}

/** Mail for an app without a sender: with `WITH_MAIL` in its environment it is queued, to be read by `mailsOf`. */
export const WITH_MAIL = { EMAIL_PROVIDER: 'smtp', EMAIL_SMTP_HOST: '127.0.0.1', EMAIL_FROM_ADDRESS: 'no-reply@example.com' };
const queueOnly = ({ config, ...needs }: Pick<Context, 'sql' | 'clock' | 'vault' | 'events' | 'config'>) =>
  openEmail({
    ...needs,
    outlet: config.email.provider && {
      providerId: config.email.provider.id,
      providerVersion: 'v1',
      mailer: { send: () => Promise.reject(new Error('This app has no sender')), close: () => undefined },
    },
    site: { name: 'Rookery', url: config.http.frontendUrl },
    log: quietLog(),
    retentionDays: config.retention.emailLog,
  });

const failed = (error: unknown) => {
  throw error;
};

/** As where the engine is away: every call is refused. */
const noActors: Actors = ({ methods }) =>
  Object.fromEntries(Object.keys(methods).map((name) => [name, () => Promise.reject(new AppError('unavailable', 'No actors here'))])) as never;

/** The real app on a free port of 127.0.0.1, over a real database; what the routes of a test need beyond identity it brings itself. */
export async function testApp({ sql, env = {}, routes, clock = systemClock, paymentsServer, context: more = () => ({}) }: Options) {
  const { config } = readConfig({ JWT_SECRET, PORT: '0', BACKEND_LISTEN_HOST: '127.0.0.1', RATE_LIMIT_SCALE: '1000', ...env });
  const identity = openIdentity({ sql, registrationDisabled: config.registration.disabled, urlOfPicture: (key) => urlOfKey(config.http.backendUrl, key) });
  const metrics = openMetrics({ processMetrics: false });
  const billing = testBilling(sql, config);
  const vault = openVault(config.secrets.encryptionKey);
  const events = openEvents(quietLog(), metrics);
  const email = queueOnly({ sql, clock, vault, events, config });
  const payments = await openPaymentsOf(config, { sql, clock, vault, email, billing, events, log: quietLog(), server: paymentsServer });
  const auth = openAuth({
    sql,
    clock,
    identity,
    billing,
    email,
    jwtSecret: config.secrets.jwt,
    frontendUrl: config.http.frontendUrl,
    disallowPlus: config.registration.disallowPlus,
    tracesDays: config.retention.ip,
    failed,
  });
  const outbound = openOutbound(config.outbound);
  const providers = openProviders({ outbound, clock, echoUrl: config.outbound.echoUrl, sandboxEnabled: true });
  const errors = openErrorLog({ sql, logs: { of: quietLog }, incarnation: 'test', retentionDays: config.retention.errors });
  const base = {
    config,
    clock,
    sql,
    identity,
    admin: openAdmin({
      sql,
      billing,
      plans: payments,
      tokens: auth.tokens,
      queues: { pause: pauseQueue, resume: resumeQueue },
      lateSeconds: config.posts.lateSeconds,
    }),
    errors,
    auth,
    oauth: openOAuth({ sql, clock, auth, issuer: config.http.backendUrl, failed }),
    billing,
    payments,
    members: openMembers({ sql, billing, email, frontendUrl: config.http.frontendUrl }),
    organizations: openOrganizations({ sql, billing, stopChannels: stopAll, providers, endSubscription: payments.endAll }),
    vault,
    email,
    cache: openMemoryCache(clock),
    incarnation: randomUUID(),
    health: {
      draining: false,
      report: async () => ({ jobs: { engine: 'none', wired: [], pending: 0 }, crons: [], lateness: { p50Ms: null, p99Ms: null } }),
      reminders: async () => ({ pending: 0, overdue: 0, from: 'rows' }),
    },
    metrics,
    events,
    actors: noActors,
  } as unknown as Context; // without an engine: a test that needs actors brings them
  const context: Context = { ...base, ...more(base) };
  const answered: Answered[] = [];
  const note = (one: Answered) => {
    answered.push(one);
    if (one.error?.code === 'internal') process.stderr.write(`${one.method} ${one.route}: ${inspect(one.error.cause)}\n`);
  };
  const api = await startApi(context, { ...(routes && { routes }), checkAnswers: true, onAnswer: note });
  return {
    context,
    address: api.address,
    /** One entry for each request, in the order of their answers. */
    answered,
    client: () => new Client(api.address),
    /** A client that is logged in as the owner of a new org. */
    signUp: (person: Partial<Person> = {}) => signUp(api.address, person),
    close: () => api[Symbol.asyncDispose](),
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]();
      await context.oauth[Symbol.asyncDispose]();
      await context.payments[Symbol.asyncDispose]();
      await context.auth[Symbol.asyncDispose]();
      await context.cache[Symbol.asyncDispose]();
      await errors[Symbol.asyncDispose]();
      await outbound[Symbol.asyncDispose]();
    },
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

  async send(method: string, path: string, body?: unknown, headers: Record<string, string | undefined> = {}): Promise<Answer> {
    const sent = new Headers();
    if (this.cookies.size > 0) sent.set('cookie', [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '));
    if (this.csrf) sent.set('x-csrf-token', this.csrf);
    const isRaw = typeof body === 'string' || body instanceof Uint8Array || body instanceof FormData;
    if (body !== undefined && !(body instanceof FormData)) sent.set('content-type', 'application/json');
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
  post = (path: string, body?: unknown, headers?: Record<string, string | undefined>) => this.send('POST', path, body, headers);
  put = (path: string, body?: unknown, headers?: Record<string, string | undefined>) => this.send('PUT', path, body, headers);
  delete = (path: string, body?: unknown, headers?: Record<string, string | undefined>) => this.send('DELETE', path, body, headers);
}

export async function signUp(address: string, given: Partial<Person>) {
  const person: Person = { email: `${randomUUID()}@example.com`, password: 'correct horse battery', company: 'Acme Ltd', ...given };
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

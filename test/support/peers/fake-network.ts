import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AppError, ProviderFailure, ProviderReason } from '../../../src/platform/kernel/index.ts';
import type { SocialAdapter, Tokens } from '../../../src/providers/registry/index.ts';

/**
 * What a network does instead of its usual answer. `cut` ends the connection before the body was read,
 * `accept-then-hang-up` does the work first.
 */
export type Behaviour =
  | { status: number; body?: unknown; headers?: Record<string, string> }
  | { reason: string }
  | 'cut'
  | 'hang-up'
  | 'accept-then-hang-up'
  | 'silence'
  | 'garbage'
  | 'redirect';

/**
 * A refusal as the provider documents it, and the word that it is for us. `step`: where it happens; default the
 * creating one.
 */
export interface DocumentedError {
  name: string;
  step?: string;
  behaviour: Behaviour;
  failure: ProviderFailure;
  retryAfterMs?: number;
}

/**
 * One network on the wire, written from the recorded facts. It refuses what the real one would refuse, and keeps a list
 * of it.
 */
export interface FakeNetwork extends AsyncDisposable {
  values: Record<string, string>;
  account: string;
  tokens?: Tokens;
  /** Base URLs to be used instead of the declared ones. */
  servers?: Record<string, string>;
  /** What must never be seen in an error. */
  secrets: string[];
  /** Every request as `METHOD /path`. */
  asked: string[];
  /** What was refused because it is not as documented. Empty at the end of a test. */
  faults: string[];
  /** What the network accepted, oldest first. */
  posts: { id: string; text: string; alts: string[]; replyTo?: string }[];
  /** What other hosts were asked after a redirect. */
  elsewhere: string[];
  /** From the call after the next `after` ones on, `times` times. */
  on(step: string, behaviour: Behaviour, times?: number, after?: number): void;
}

/** What a social adapter's folder of fixtures must hold. */
export interface Fixture {
  start(): Promise<FakeNetwork>;
  /** The call that makes a post public, as in `asked`. */
  creating: string;
  /** A safe call that `profile` makes; undefined where the network speaks no HTTP. */
  safe?: string;
  errors: DocumentedError[];
  /** Wrong login, where one can be tried. */
  wrongLogin?: Record<string, string>;
  /** Goes through the consent of a person, and answers the code. */
  consent?(network: FakeNetwork, authorizeUrl: string): Promise<string>;
  /** Ends the life of the access token until it is renewed. */
  expire?(network: FakeNetwork): void;
  adapter?(adapter: SocialAdapter): SocialAdapter;
}

export interface Asked {
  request: IncomingMessage;
  params: Record<string, string>;
  query: URLSearchParams;
  body: Buffer;
  json(): Record<string, unknown>;
  form(): Record<string, string>;
  multipart(): Promise<FormData>;
}
export interface Said {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}
type Handler = (asked: Asked) => Said | Promise<Said>;

/** The refusal of a request that is not as documented. */
class Fault extends Error {
  readonly said: Said;
  constructor(message: string, said: Said) {
    super(message);
    this.said = said;
  }
}

export interface FakeHttp extends AsyncDisposable, Pick<FakeNetwork, 'asked' | 'faults' | 'elsewhere' | 'on'> {
  url: string;
  /** Refuses the request, and fails the test at its end, unless the condition holds. */
  need(condition: unknown, message: string): asserts condition;
}

/** Routes as `METHOD /path/:name`; everything else is a fault. */
export async function startHttp(routes: Record<string, Handler>, refuse: (message: string) => Said): Promise<FakeHttp> {
  const asked: string[] = [];
  const faults: string[] = [];
  const elsewhere: string[] = [];
  const behaviours = new Map<string, { behaviour: Behaviour; left: number; after: number }>();
  const table = Object.entries(routes).map(([name, handler]) => ({
    name,
    handler,
    pattern: new RegExp(`^${name.replace(/[.]/g, '\\.').replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`),
  }));

  const other = await listen((request, response) => {
    elsewhere.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`);
    response.end('{}');
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, 'http://fake');
    const called = `${request.method} ${url.pathname}`;
    asked.push(called);
    const route = table.find(({ pattern }) => pattern.test(called));
    const told = behaviours.get(route?.name ?? '');
    const behaviour = told && told.after <= 0 && told.left > 0 ? told.behaviour : undefined;
    if (told) told.after -= 1;
    if (told && behaviour) told.left -= 1;
    if (behaviour === 'cut') return void request.socket.destroy();
    const body = await whole(request);

    if (behaviour === 'silence') return;
    if (behaviour === 'hang-up') return void request.socket.destroy();
    if (behaviour === 'garbage') return answer(response, { status: 200, body: '{"half' });
    if (behaviour === 'redirect')
      return answer(response, { status: 307, headers: { location: `${addressOf(other)}/stolen` } });
    if (typeof behaviour === 'object' && 'status' in behaviour) return answer(response, behaviour);
    try {
      if (!route) throw new Fault(`unknown path ${called}`, { status: 404, body: { error: 'not found' } });
      const said = await route.handler({
        request,
        body,
        query: url.searchParams,
        params: { ...route.pattern.exec(called)!.groups },
        json() {
          demand(
            request.headers['content-type']?.startsWith('application/json'),
            `content type ${request.headers['content-type']}`,
          );
          return JSON.parse(body.toString()) as Record<string, unknown>;
        },
        form() {
          demand(
            request.headers['content-type']?.startsWith('application/x-www-form-urlencoded'),
            `content type ${request.headers['content-type']}`,
          );
          return Object.fromEntries(new URLSearchParams(body.toString()));
        },
        async multipart() {
          demand(
            request.headers['content-type']?.startsWith('multipart/form-data'),
            `content type ${request.headers['content-type']}`,
          );
          return new Response(new Uint8Array(body), {
            headers: { 'content-type': request.headers['content-type']! },
          }).formData();
        },
      });
      if (behaviour === 'accept-then-hang-up') return void request.socket.destroy();
      answer(response, said);
    } catch (error) {
      faults.push(error instanceof Error ? error.message : String(error));
      answer(response, error instanceof Fault ? error.said : { status: 500 });
    }
  }

  function demand(condition: unknown, message: string): asserts condition {
    if (!condition) throw new Fault(message, refuse(message));
  }

  const server = await listen((request, response) => void serve(request, response));
  return {
    url: addressOf(server),
    asked,
    faults,
    elsewhere,
    need: demand,
    on: (step: string, behaviour: Behaviour, times = Infinity, after = 0) =>
      void behaviours.set(step, { behaviour, left: times, after }),
    async [Symbol.asyncDispose]() {
      for (const one of [server, other]) {
        one.closeAllConnections();
        one.close();
        await once(one, 'close');
      }
    },
  };
}

async function listen(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<Server> {
  const server = createServer(handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
const addressOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

function answer(response: ServerResponse, { status, body = {}, headers = {} }: Said): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

async function whole(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

/** What a failed call ended with. */
export const failureOf = async (
  call: Promise<unknown>,
): Promise<AppError & { failure?: ProviderFailure; reason?: ProviderReason; retryAfterMs?: number }> => {
  const [outcome] = await Promise.allSettled([call]);
  if (outcome.status === 'fulfilled') throw new Error('The call was expected to fail');
  return outcome.reason as AppError;
};

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import type { Database } from '../src/platform/db/index.ts';
import { type Clock, newId, sha256Hex, systemClock } from '../src/platform/kernel/index.ts';
import { type Below, Comment, commentsOf, countsOf, Hidden, hideComment, placeBelow } from './below.ts';
import { accepts, accountOf, outcomeOf, readToken, Submitted, tokenOf, type Treatment } from './rules.ts';
import { countTotals, hasPost, listPosts, note } from './store.ts';

export interface Sandbox extends AsyncDisposable {
  url: string;
  port: number;
}
export interface SandboxOptions {
  sql: Database;
  port?: number;
  clock?: Clock;
}

interface Network {
  readonly sql: Database;
  readonly clock: Clock;
  /** How often each key was asked for, the latest last. */
  readonly counted: Map<string, number>;
  /** Of its addresses; known once the server listens. */
  origin: string;
}
interface Asked {
  request: IncomingMessage;
  url: URL;
  body: Buffer;
  account: string;
  generation: number;
}
interface Answer {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}
/** `undefined`: no answer, the connection is left open. */
type Reply = Promise<Answer | undefined>;

const MAX_BODY = 32 * 1024 * 1024;
/** How many keys' counts of `times` are remembered. */
const MAX_COUNTED = 100_000;

/**
 * A small social network on 127.0.0.1 that publishes nowhere and notes each request in `sandbox_ledger` before it
 * answers.
 */
export async function startSandbox({ sql, port = 0, clock = systemClock }: SandboxOptions): Promise<Sandbox> {
  const network: Network = { sql, clock, counted: new Map(), origin: '' };
  const server = createServer((request, response) => {
    void serve(network, request, response);
  });
  server.keepAliveTimeout = 30_000;
  server.requestTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  network.origin = `http://127.0.0.1:${bound}`;
  return {
    url: network.origin,
    port: bound,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function serve(network: Network, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const body = await read(request);
    const answer = body
      ? await route(network, { request, url: new URL(request.url ?? '/', network.origin), body })
      : refuse(413, 'Too large');
    if (answer) send(response, answer);
  } catch (error) {
    send(response, refuse(503, `The ledger cannot be written: ${error instanceof Error ? error.message : 'unknown'}`));
  }
}

/** How often this key was asked for, this time included. Only treatments that end are counted. */
function nth({ counted }: Network, account: string, key: string, { times }: Treatment): number {
  if (times === undefined) return 1;
  const name = `${account}\n${key}`;
  const count = (counted.get(name) ?? 0) + 1;
  counted.delete(name);
  counted.set(name, count);
  if (counted.size > MAX_COUNTED) counted.delete(counted.keys().next().value!);
  return count;
}

async function submit(network: Network, { request, body, account }: Asked): Reply {
  const { sql, clock } = network;
  const parsed = Submitted.safeParse(json(body));
  if (!parsed.success)
    return refuse(422, `${parsed.error.issues[0]?.path.join('.')}: ${parsed.error.issues[0]?.message}`);
  const { text, media, replyTo, treatment } = parsed.data;
  if (replyTo && !(await hasPost(sql, account, replyTo))) return refuse(404, 'There is no such post to reply to');
  const key = request.headers['idempotency-key'];
  const idempotencyKey = typeof key === 'string' ? key : null;
  const outcome = outcomeOf(treatment, nth(network, account, idempotencyKey ?? '', treatment));
  if (treatment.latencyMs) await clock.sleep(treatment.latencyMs);
  const postId = newId();
  const noted = await note(sql, {
    account,
    postId,
    step: replyTo ? 'reply' : 'publish',
    text,
    media,
    replyTo: replyTo ?? null,
    idempotencyKey,
    accepted: accepts(outcome),
    answered: outcome,
  });
  switch (outcome) {
    case 'ok':
      return { status: 201, body: postOf(network, account, noted.postId, noted.repeated) };
    case 'rate_limited':
      return {
        status: 429,
        body: { error: 'Too many posts' },
        headers: { 'retry-after': String(treatment.retryAfterSeconds ?? 1) },
      };
    case 'error':
    case 'error_after_accept':
      return refuse(500, 'The network failed');
    case 'auth_expired':
      return refuse(401, 'The token has expired');
    case 'garbage':
      return { status: 200, body: undefined };
    case 'hang':
      return undefined;
  }
}

const postOf = ({ origin }: Network, account: string, id: string, repeated = false) => ({
  id,
  url: `${origin}/${encodeURIComponent(account)}/posts/${id}`,
  repeated,
});

async function list(network: Network, { url, account }: Asked): Reply {
  const rows = await listPosts(network.sql, account, url.searchParams.get('key') ?? undefined);
  return {
    status: 200,
    body: {
      items: rows.map(({ id, text, at, replyTo }) => ({
        ...postOf(network, account, id),
        text,
        at: at.toISOString(),
        replyTo,
      })),
    },
  };
}

async function remove({ sql }: Network, { url, account }: Asked): Reply {
  const postId = url.pathname.split('/')[2] ?? '';
  if (!(await hasPost(sql, account, postId))) return refuse(404, 'There is no such post');
  await note(sql, {
    account,
    postId,
    step: 'delete',
    text: '',
    media: [],
    replyTo: null,
    idempotencyKey: `delete ${postId}`,
    accepted: true,
    answered: 'ok',
  });
  return { status: 200, body: { id: postId } };
}

/** Makes what stands below a post; treatments are of posts alone. */
async function makeBelow(network: Network, { request, url, body, account }: Asked): Reply {
  const [, , postId = '', below = ''] = url.pathname.split('/');
  const parsed = below === 'comments' ? Comment.safeParse(json(body)) : undefined;
  if (parsed && !parsed.success) return refuse(422, 'A text is needed');
  const key = request.headers['idempotency-key'];
  const made = await placeBelow(network.sql, {
    account,
    below: below as Below, // the route names it
    postId,
    text: parsed?.data.text ?? '',
    key: typeof key === 'string' ? key : null,
  });
  return made
    ? { status: 201, body: postOf(network, account, made.id, made.repeated) }
    : refuse(404, 'There is no such post');
}

/** The comments below a post, with the answers to them. */
async function listComments(network: Network, { url }: Asked): Reply {
  const [, , postId = ''] = url.pathname.split('/');
  const page = await commentsOf(network.sql, postId, url.searchParams.get('after') ?? '');
  if (!page) return refuse(404, 'There is no such post');
  const items = page.items.map(({ id, account, text, at, replyTo, hidden }) => ({
    ...postOf(network, account, id),
    account,
    text,
    at: at.toISOString(),
    replyTo,
    hidden,
  }));
  return { status: 200, body: { items, next: page.next ?? null } };
}

async function hide({ sql }: Network, { url, body, account }: Asked): Reply {
  const parsed = Hidden.safeParse(json(body));
  if (!parsed.success) return refuse(422, 'hidden: true or false');
  const [, , postId = ''] = url.pathname.split('/');
  return (await hideComment(sql, account, postId, parsed.data.hidden))
    ? { status: 200, body: { id: postId } }
    : refuse(404, 'There is no such comment');
}

async function route(network: Network, asked: Omit<Asked, 'account' | 'generation'>): Reply {
  const { request, url, body } = asked;
  const name = `${request.method} ${url.pathname.replace(/^\/posts\/[^/]+(?=\/|$)/, '/posts/:id')}`;
  if (name === 'GET /health') return { status: 200, body: { status: 'ok' } };
  if (name === 'POST /accounts') return register(json(body));
  const known = readToken(/^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '');
  if (!known) return refuse(401, 'A token is needed');
  const signed = { ...asked, ...known };
  switch (name) {
    case 'POST /tokens':
      return { status: 200, body: { token: tokenOf(known.account, known.generation + 1) } };
    case 'GET /me':
      return { status: 200, body: { id: known.account, name: known.account } };
    case 'POST /media':
      return { status: 201, body: { id: sha256Hex(body), bytes: body.length } };
    case 'POST /posts':
      return submit(network, signed);
    case 'GET /posts':
      return list(network, signed);
    case 'DELETE /posts/:id':
      return remove(network, signed);
    case 'GET /posts/:id/comments':
      return listComments(network, signed);
    case 'PUT /posts/:id/hidden':
      return hide(network, signed);
    case 'POST /posts/:id/comments':
    case 'POST /posts/:id/reposts':
    case 'POST /posts/:id/likes':
      return makeBelow(network, signed);
    case 'GET /counts':
      return { status: 200, body: { items: await countsOf(network.sql, url.searchParams.get('ids') ?? '') } };
    case 'GET /totals':
      return { status: 200, body: await countTotals(network.sql, known.account) };
    default:
      return refuse(404, 'There is no such address');
  }
}

function register(body: unknown): Answer {
  const parsed = z.object({ name: z.string().max(100) }).safeParse(body);
  const account = parsed.success ? accountOf(parsed.data.name) : '';
  return account === ''
    ? refuse(422, 'A name is needed')
    : { status: 201, body: { id: account, token: tokenOf(account, 1) } };
}

const refuse = (status: number, error: string): Answer => ({ status, body: { error } });

function send(response: ServerResponse, { status, body, headers }: Answer): void {
  const text = body === undefined ? '{"id": <<<' : JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

/** The whole body; undefined when it is too large. */
const read = (request: IncomingMessage) =>
  new Promise<Buffer | undefined>((resolve, reject) => {
    const parts: Buffer[] = [];
    let length = 0;
    request.on('data', (part: Buffer) => {
      length += part.length;
      if (length <= MAX_BODY) parts.push(part);
    });
    request.on('end', () => resolve(length > MAX_BODY ? undefined : Buffer.concat(parts)));
    request.on('error', reject);
  });

function json(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

import createClient, { type Client as Api } from 'openapi-fetch';
import { systemClock } from './clock.ts';
import { openCredential, type Tokens } from './credential.ts';
import { notOfApi } from './errors.ts';
import { itemsByCursor, itemsByPage } from './pages.ts';
import { randomId } from './random-id.ts';
import { type components, type operations, type paths, repeatablePosts } from './schema.gen.ts';
import { type Clock, openTransport } from './transport.ts';
import { type Content, formOf } from './upload.ts';
import { type PostWithThread, waitForEnd, type WaitOptions } from './wait.ts';

export type Schemas = components['schemas'];
type Body<Name extends keyof operations> = operations[Name] extends {
  requestBody?: { content: { 'application/json': infer T } };
}
  ? T
  : never;
type Query<Name extends keyof operations> = NonNullable<operations[Name]['parameters']['query']>;

export interface RookeryOptions {
  /** Address of the service, with or without `/api`. */
  url: string;
  /** An API key, an access token, or tokens that renew themselves. */
  credential?: string | Tokens;
  /** How long one call may wait, all together, before it is repeated: 60 seconds unless told. 0 repeats nothing. */
  maxWaitMs?: number;
  /**
   * How long one attempt may be without an answer, and the body of an answer without a byte: 60 seconds unless told. An
   * upload may last longer, and a stream of events may be silent.
   */
  timeoutMs?: number;
  /** Told of each wait before it begins, and why. */
  onWait?: (ms: number, why: Error) => void;
  fetch?: typeof globalThis.fetch;
  clock?: Clock;
}
export interface CreateOptions {
  /** Makes repeating safe over restarts of the caller, too; a random one unless given. */
  idempotencyKey?: string;
}
export interface UploadOptions extends CreateOptions {
  name: string;
  type?: string;
  signal?: AbortSignal;
}

/** The data of a call of `api`, which throws each refusal by itself. */
export async function dataOf<T>(call: Promise<{ data?: T }>): Promise<T> {
  try {
    return (await call).data as T;
  } catch (cause) {
    throw cause instanceof SyntaxError ? notOfApi('is not in JSON', cause) : cause;
  }
}
const keyed = ({ idempotencyKey }: CreateOptions = {}) =>
  idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
const idOf = (post: string | { id: string } | { postId: string }) =>
  typeof post === 'string' ? post : 'id' in post ? post.id : post.postId;

/** A client of one service with one credential. Each method answers data or throws. */
export function openRookery(options: RookeryOptions) {
  let { url } = options;
  while (url.endsWith('/')) url = url.slice(0, -1);
  const fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  const clock = options.clock ?? systemClock;
  const timeoutMs = options.timeoutMs ?? 60_000;
  const transport = openTransport({
    credential: openCredential(options.credential, { url, fetch, now: clock.now, timeoutMs }),
    fetch,
    clock,
    maxWaitMs: options.maxWaitMs ?? 60_000,
    timeoutMs,
    onWait: options.onWait,
  });
  const api: Api<paths> = createClient<paths>({
    baseUrl: url,
    fetch: (request) => transport.send(() => request.clone()),
  });
  api.use({
    async onRequest({ request, schemaPath }) {
      if (request.method === 'POST' && repeatablePosts.includes(schemaPath) && !request.headers.has('idempotency-key'))
        request.headers.set('idempotency-key', await randomId());
    },
  });
  const getPost = (id: string) => dataOf(api.GET('/public/v1/posts/{id}', { params: { path: { id } } }));

  return {
    url,
    /** Every route of the public API by its path; a refusal is thrown, so `data` is there. */
    api,

    /** Any other route: the same credential, waits and errors. */
    request: (path: string, init?: RequestInit): Promise<Response> =>
      transport.send(() => new Request(`${url}${path}`, init)),

    me: () => dataOf(api.GET('/public/v1/me')),
    channels: (query: Query<'listChannels'> = {}) => dataOf(api.GET('/public/v1/integrations', { params: { query } })),

    createPosts: (body: Body<'createPosts'>, create?: CreateOptions) =>
      dataOf(api.POST('/public/v1/posts', { body, params: { header: keyed(create) } })),
    /** Says what creating would refuse; stores nothing. */
    preflight: (body: Body<'preflightPosts'>) => dataOf(api.POST('/public/v1/posts/preflight', { body })),
    getPost,
    /** Each post of a range of dates. */
    posts: (query: Omit<Query<'listPosts'>, 'cursor'> = {}) =>
      itemsByCursor(async (cursor) => {
        const whole = { limit: 100, ...query, ...(cursor !== undefined && { cursor }) };
        const page = await dataOf(api.GET('/public/v1/posts', { params: { query: whole } }));
        return { items: page.posts, next: page.nextCursor };
      }),
    editPost: (id: string, body: Body<'editPost'>) =>
      dataOf(api.PATCH('/public/v1/posts/{id}', { params: { path: { id } }, body })),
    deletePost: (id: string) => dataOf(api.DELETE('/public/v1/posts/{id}', { params: { path: { id } } })),
    /** Answers the post once it is published or has failed, or when it is a draft. */
    waitFor: (post: string | { id: string } | { postId: string }, wait?: WaitOptions): Promise<PostWithThread> =>
      waitForEnd(() => getPost(idOf(post)), clock, wait),

    /** Sends a file into the library. A stream is sent as it comes, once: a failure of it is not repeated. */
    async upload(content: Content, { name, type, signal, ...create }: UploadOptions): Promise<Schemas['PublicFile']> {
      const form = await formOf(content, { name, ...(type !== undefined && { type }) });
      const headers = { 'idempotency-key': create.idempotencyKey ?? (await randomId()), ...form.headers };
      const init = { method: 'POST', body: form.body, headers, ...(signal && { signal }), duplex: 'half' };
      const answer = await transport
        .send(() => new Request(`${url}/public/v1/upload`, init), { once: form.once })
        .catch((error: unknown) => {
          throw form.failure ?? error;
        });
      return dataOf(answer.json().then((data: Schemas['PublicFile']) => ({ data })));
    },
    /** Each file of the library. */
    files: (query: Omit<Query<'listFiles'>, 'page'> = {}) =>
      itemsByPage(1, async (page) => {
        const { results, pages } = await dataOf(api.GET('/public/v1/media', { params: { query: { ...query, page } } }));
        return { items: results, hasMore: page < pages };
      }),

    /** Each notification of the person whose credential it is. */
    notifications: () =>
      itemsByPage(0, async (page) => {
        const { notifications, hasMore } = await dataOf(
          api.GET('/public/v1/notifications', { params: { query: { page } } }),
        );
        return { items: notifications, hasMore };
      }),
    /** Each event of a webhook behind a number, up to the newest. */
    async *webhookEvents(id: string, after = 0): AsyncGenerator<Schemas['WebhookEvent'], void> {
      for (let seq = after; ;) {
        const { items } = await dataOf(
          api.GET('/public/v1/webhooks/{id}/events', { params: { path: { id }, query: { after: seq } } }),
        );
        if (items.length === 0) return;
        yield* items;
        seq = items.at(-1)!.seq;
      }
    },
  };
}
export type Rookery = ReturnType<typeof openRookery>;

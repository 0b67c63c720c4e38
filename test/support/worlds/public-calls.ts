import type { Answer } from './app.ts';
import { setProvider } from './studio/media-jobs.ts';
import { type Maker, makerAdapter, startMaker } from './studio/media-maker.ts';
import { mcpWorld } from './mcp.ts';
import { formOf, HEADS, picture } from './samples.ts';

/** A call of an operation beside what its document gives as an example. */
export interface PublicCall {
  path?: Record<string, string>;
  query?: Record<string, string>;
  /** In the place of the example of the document, or FormData. */
  body?: unknown;
}
/** With a client of its own a network is connected by its consent page. */
const REDDIT = { REDDIT_CLIENT_ID: 'ours', REDDIT_CLIENT_SECRET: 'our-secret' };

/** The product with a channel, a key of a super-admin, and a provider of videos. */
export async function publicCallsWorld() {
  await using opened = new AsyncDisposableStack();
  const maker: Maker = opened.use(await startMaker());
  const world = opened.use(await mcpWorld({ adapters: [makerAdapter('maker')], servers: maker.servers, env: REDDIT }));
  await setProvider(world.ann, 'maker');
  await world.product.db.sql`update users set is_super_admin = true where id = ${world.ann.userId}`;
  const running = opened.move();
  return { ...world, maker, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
export type PublicCallsWorld = Awaited<ReturnType<typeof publicCallsWorld>>;

type Make = (world: PublicCallsWorld) => PublicCall | Promise<PublicCall>;

const HOUR = 3_600_000;
const made = ({ status, body, text }: Answer) => {
  if (status >= 300) throw new Error(`What a call needs was refused: ${text}`);
  return body;
};
const postBody = ({ channelId }: PublicCallsWorld, type = 'draft') => ({
  type,
  date: new Date(Date.now() + HOUR).toISOString(),
  shortLink: false,
  tags: [],
  posts: [{ integration: { id: channelId }, value: [{ content: '<p>Hello</p>', image: [] }], settings: {} }],
});
const newPost = async (world: PublicCallsWorld, type?: string): Promise<string> =>
  made(await world.key.post('/public/v1/posts', postBody(world, type)))[0].postId;
const ofPost =
  (body?: object): Make =>
  async (world) => ({ path: { id: await newPost(world) }, ...(body && { body }) });
const newFile = async ({ key }: PublicCallsWorld): Promise<string> =>
  made(await key.post('/public/v1/upload', formOf(await picture(20, 10)))).id;
const newPlan = async (world: PublicCallsWorld): Promise<string> =>
  made(await world.key.post('/public/v1/posts/bulk', { items: [postBody(world)] })).planId;
const newChannel = async ({ ann }: PublicCallsWorld, name: string): Promise<string> =>
  made(await ann.client.post('/integrations/social-connect/sandbox', { fields: { name }, allowPreview: true })).id;
const HOOK = { name: 'Hook', url: 'https://acme.example/hook', integrations: [] };
const newWebhook = async ({ key }: PublicCallsWorld): Promise<string> =>
  made(await key.post('/public/v1/webhooks', HOOK)).id;
const ofWebhook =
  (body?: object): Make =>
  async (world) => ({ path: { id: await newWebhook(world) }, ...(body && { body }) });
const ofChannel =
  (name = 'id', more: PublicCall = {}): Make =>
  ({ channelId }) => ({ path: { [name]: channelId }, ...more });

/** What an operation of the public API needs beside its example; every parameter of a path has a value here. */
export const PUBLIC_CALLS: Readonly<Record<string, Make>> = {
  'GET /analytics/{integrationId}': ofChannel('integrationId'),
  'GET /analytics/{integrationId}/history': ofChannel('integrationId'),
  'GET /analytics/post/{postId}': async (world) => ({ path: { postId: await newPost(world) } }),
  'GET /channels/{id}/calendar.ics': async ({ ann, channelId: id }) => {
    const { url } = made(await ann.client.post(`/integrations/${id}/calendar-token`, {}));
    return { path: { id }, query: Object.fromEntries(new URL(url).searchParams) };
  },
  'GET /find-slot/{id}': ofChannel(),
  'POST /generate-video': ({ maker }) => {
    maker.plan('A lake', { results: ['film'] });
    return { body: { type: 'maker/video', customParams: { prompt: 'A lake' } } };
  },
  'GET /integration-settings/{id}': ofChannel(),
  'POST /integration-trigger/{id}': ofChannel('id', { body: { methodName: 'list_posts', data: {} } }),
  'DELETE /integrations/{id}': async (world) => ({ path: { id: await newChannel(world, 'Another') } }),
  'DELETE /media/{id}': async (world) => ({ path: { id: await newFile(world) } }),
  'POST /media/{id}/transform': async (world) => ({ path: { id: await newFile(world) } }),
  'GET /media/jobs/{id}': async (world) => {
    const wish = { operation: 'resize', params: { width: 5 } };
    return { path: { id: made(await world.key.post(`/public/v1/media/${await newFile(world)}/transform`, wish)).id } };
  },
  'POST /posts': (world) => ({ body: postBody(world) }),
  'GET /posts/{id}': ofPost(),
  'PUT /posts/{id}': ofPost(),
  'PATCH /posts/{id}': ofPost(),
  'DELETE /posts/{id}': ofPost(),
  'GET /posts/{id}/missing': ofPost(),
  'PUT /posts/{id}/release-id': async (world) => {
    const id = await newPost(world);
    await world.product.db.sql`
      update posts
      set state = 'ERROR', detail = 'unconfirmed', error_kind = 'unconfirmed', attempt = 1, incarnation = 'gone',
        claimed_at = now()
      where id = ${id}`;
    return { path: { id } };
  },
  'POST /posts/{id}/retry': async (world) => {
    const id = await newPost(world);
    await world.product.db.sql`
      update posts set state = 'ERROR', detail = null, error_kind = 'validation', error = 'x' where id = ${id}`;
    return { path: { id } };
  },
  'PUT /posts/{id}/settings': ofPost(),
  'PUT /posts/{id}/status': async (world) => ({ path: { id: await newPost(world, 'schedule') } }),
  'GET /posts/{id}/timeline': ofPost(),
  'POST /posts/bulk': (world) => ({ body: { items: [postBody(world)] } }),
  'POST /posts/bulk/{planId}/apply': async (world) => ({ path: { planId: await newPlan(world) } }),
  'POST /posts/bulk/{planId}/undo': async (world) => {
    const planId = await newPlan(world);
    made(await world.key.post(`/public/v1/posts/bulk/${planId}/apply`, {}));
    return { path: { planId } };
  },
  'DELETE /posts/group/{group}': async (world) => {
    const id = await newPost(world);
    return { path: { group: made(await world.key.get(`/public/v1/posts/${id}`)).group } };
  },
  'POST /posts/preflight': (world) => ({ body: postBody(world) }),
  'GET /social/{provider}': () => ({ path: { provider: 'reddit' } }),
  // the proxy reads it as text
  'POST /upload': () => ({ body: formOf(HEADS['pdf']!, { name: 'a.pdf', type: 'application/pdf' }) }),
  'POST /upload-from-url': ({ maker }) => ({ body: { url: `${maker.servers['media/maker']}/results/picture` } }),
  'POST /video/function': () => ({ body: { identifier: 'maker/avatar', functionName: 'avatars' } }),
  'POST /webhooks': () => ({ body: HOOK }),
  'PUT /webhooks': async (world) => ({ body: { ...HOOK, id: await newWebhook(world) } }),
  'GET /webhooks/{id}': ofWebhook(),
  'PUT /webhooks/{id}': ofWebhook(HOOK),
  'DELETE /webhooks/{id}': ofWebhook(),
  'GET /webhooks/{id}/events': ofWebhook(),
};

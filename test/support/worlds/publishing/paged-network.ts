import { z } from 'zod';
import { clientApp } from '../../../../src/providers/kit/protocols/oauth.ts';
import { social } from '../../../../src/providers/social/_contract.ts';
import { tool } from '../../../../src/providers/social/_tools.ts';
import { startHttp } from '../../peers/fake-network.ts';

interface Page {
  id: string;
  name: string;
}
const Page = z.object({ id: z.string(), name: z.string() });
const Found = z.object({ id: z.string(), label: z.string(), image: z.string().optional() });

/**
 * A network whose people have several pages, on the wire, and its adapter `paged`: a person logs in by consent, one of
 * the pages becomes the channel, which has boards and people to mention. Tokens are good while they are listed; a
 * refresh token works once.
 */
export async function startPagedNetwork() {
  let given = 0;
  const network = {
    /** The pages of whoever logs in. */
    pages: [
      { id: 'p1', name: 'Bakery' },
      { id: 'p2', name: 'Butcher' },
    ] as Page[],
    /** Seconds that a token is said to last. */
    expiresIn: 3_600,
    tokens: new Set<string>(),
    refreshTokens: new Set<string>(),
    /** Answers the list of pages by this status. */
    pagesStatus: 200,
    /** What the boards of a team are. */
    boards: [{ id: 'b1', name: 'Recipes' }] as unknown,
    mentions: [] as z.input<typeof Found>[],
    /** What was published, by page. */
    posts: [] as { page: string; text: string }[],
  };
  const give = () => {
    given += 1;
    network.tokens.add(`access-${given}-secret`).add(`page-access-${given}-secret`);
    network.refreshTokens.add(`refresh-${given}-secret`);
    const [access_token, refresh_token] = [`access-${given}-secret`, `refresh-${given}-secret`];
    return { status: 200, body: { access_token, refresh_token, expires_in: network.expiresIn } };
  };
  const refused = { status: 401, body: { error: 'no such token' } };
  const isGood = (authorization = '') => network.tokens.has(authorization.replace('Bearer ', ''));
  const server = await startHttp(
    {
      'POST /token': ({ form }) => {
        const { grant_type: grant, refresh_token: refresh = '' } = form();
        if (grant === 'authorization_code') return give();
        return network.refreshTokens.delete(refresh) ? give() : { status: 400, body: { error: 'invalid_grant' } };
      },
      'GET /pages': ({ request }) => {
        if (!isGood(request.headers.authorization)) return refused;
        return network.pagesStatus === 200 ? { status: 200, body: network.pages } : { status: network.pagesStatus };
      },
      'GET /pages/:id': ({ request, params }) => {
        const page = network.pages.find(({ id }) => id === params['id']);
        return isGood(request.headers.authorization) && page ? { status: 200, body: page } : refused;
      },
      'GET /boards': ({ request, query }) =>
        isGood(request.headers.authorization)
          ? { status: 200, body: { team: query.get('team'), boards: network.boards } }
          : refused,
      'GET /people': ({ request }) =>
        isGood(request.headers.authorization) ? { status: 200, body: network.mentions } : refused,
      'POST /pages/:id/posts': ({ request, params, json }) => {
        if (!isGood(request.headers.authorization)) return refused;
        network.posts.push({ page: params['id']!, text: json()['text'] as string });
        return { status: 200, body: { id: `${network.posts.length}` } };
      },
    },
    (error) => ({ status: 400, body: { error } }),
  );
  const adapter = social({
    id: 'paged',
    version: 'v1',
    title: 'Paged',
    description: 'A network of people with several pages.',
    status: 'active',
    authType: 'oauth2',
    credentials: {},
    app: clientApp,
    api: server.url,
    auth: { in: 'token' },
    login: { kind: 'oauth2', authorize: '/authorize', token: '/token', scopes: ['pages'] },
    once: 'at-most-once',
    threads: 'none',
    limits: { text: 100, unit: 'characters', media: 0, mediaTypes: [] },
    settings: z.looseObject({}),
    async profile({ http, values }) {
      const { id, name } = await http.get(`/pages/${(values as Record<string, string>)['page']}`, Page);
      return { id, name, handle: name.toLowerCase() };
    },
    pages: ({ http }) => http.get('/pages', z.array(Page)),
    choose: async ({ page, tokens }) => ({ ...tokens, values: { ...tokens.values, page } }),
    tools: {
      boards: tool({
        description: 'Lists the boards of a team',
        data: z.object({ team: z.string().min(1).describe('Name of the team'), archived: z.boolean().optional() }),
        async call({ http, data: { team } }) {
          const Boards = z.object({ team: z.string(), boards: z.unknown() });
          return (await http.get('/boards', Boards, { query: { team } })).boards;
        },
      }),
      whoami: tool({
        description: 'Tells the page',
        data: z.object({}),
        call: async ({ account }) => ({ page: account }),
      }),
    },
    mentions: ({ http, query }) => http.get('/people', z.array(Found), { query: { q: query } }),
    async publish({ http, account, post }) {
      const { id } = await http.post(`/pages/${account}/posts`, z.object({ id: z.string() }), {
        json: { text: post.text },
        creates: true,
      });
      return { id, url: `https://paged.example/${id}` };
    },
  });
  return Object.assign(network, {
    adapter,
    asked: server.asked,
    faults: server.faults,
    on: server.on,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  });
}
export type PagedNetwork = Awaited<ReturnType<typeof startPagedNetwork>>;

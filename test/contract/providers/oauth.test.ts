// oxlint-disable max-lines -- one protocol: its variants share a server
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createHmac } from 'node:crypto';
import { inspect } from 'node:util';
import { z } from 'zod';
import type { App, Tokens } from '../../../src/providers/registry/index.ts';
import type { OAuth1 } from '../../../src/providers/kit/protocols/oauth1.ts';
import type { OAuth2 } from '../../../src/providers/kit/protocols/oauth.ts';
import { social } from '../../../src/providers/social/_contract.ts';
import { type Asked, failureOf, type FakeHttp, type Said, startHttp } from '../../support/peers/fake-network.ts';
import { localProviders } from '../../support/worlds/providers.ts';

/** A network that is told what to demand of a token request, and refuses everything else. */
const REDIRECT = 'https://rookery.example/integrations/social/strict';
const app: App = { clientId: 'the client', clientSecret: 'the+secret/' };
const HOUR = 3_600_000;

type Checks = Record<string, (asked: Asked) => Said>;
let server: FakeHttp;
let providers: ReturnType<typeof localProviders>;
let routes: Checks;

beforeEach(async () => {
  routes = {};
  const handled = (name: string) => (asked: Asked) => {
    const route = routes[name];
    server.need(route, `${name} is not expected`);
    return route(asked);
  };
  const names = ['GET /authorize', 'POST /token', 'GET /token', 'GET /long', 'GET /renew', 'GET /permissions'];
  const all = [...names, 'POST /revoke', 'POST /request', 'POST /access', 'GET /me', 'POST /posts', 'GET /poll'];
  server = await startHttp(Object.fromEntries(all.map((name) => [name, handled(name)])), (error) => ({
    status: 400,
    body: { error },
  }));
  providers = localProviders();
});
afterEach(async () => {
  const { faults } = server;
  await providers[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  expect(faults).toEqual([]);
});

const network = (login: Partial<OAuth2> & { oauth1?: OAuth1 }) =>
  social({
    id: 'strict',
    version: 'v1',
    title: 'Strict',
    description: 'A network of these tests.',
    authType: 'oauth2',
    credentials: {},
    api: server.url,
    auth: { in: 'token' },
    once: 'at-most-once',
    threads: 'none',
    limits: { text: 100, unit: 'characters', media: 0, mediaTypes: [] },
    settings: z.looseObject({}),
    login: { kind: 'oauth2', authorize: '/authorize', token: '/token', scopes: ['read', 'write'], ...login },
    profile: ({ http }) => http.get('/me', z.object({ id: z.string(), name: z.string(), handle: z.string() })),
    publish: ({ http, post }) =>
      http.post('/posts', z.object({ id: z.string(), url: z.string() }), { form: { text: post.text }, creates: true }),
  });
const begin = (login: Partial<OAuth2> & { oauth1?: OAuth1 }, one = app) =>
  providers.authorize(network(login), { app: one, values: {}, redirectUri: REDIRECT, state: 'the-state' });
const queryOf = async (login: Partial<OAuth2>) =>
  Object.fromEntries(new URL((await begin(login)).url).searchParams.entries());
const end = (
  login: Partial<OAuth2>,
  more: { kept?: Record<string, string>; callback?: Record<string, string>; app?: App; code?: string } = {},
) =>
  providers.exchange(network(login), {
    app,
    values: {},
    redirectUri: REDIRECT,
    code: 'the-code',
    state: 'the-state',
    ...more,
  });
const renew = (login: Partial<OAuth2>, tokens: Tokens, one = app) =>
  providers.refresh(network(login), { app: one, values: {}, tokens });
/** Demands exactly these parameters. */
const demand = (found: Record<string, string>, wanted: Record<string, string>) =>
  server.need(
    JSON.stringify(Object.entries(found).toSorted()) === JSON.stringify(Object.entries(wanted).toSorted()),
    `parameters ${JSON.stringify(found)}`,
  );
const usual = { grant_type: 'authorization_code', code: 'the-code', redirect_uri: REDIRECT };
const inBody = { client_id: app.clientId, client_secret: app.clientSecret };
const gives = (body: Record<string, unknown> = {}): Said => ({
  status: 200,
  body: { access_token: 'access-1', ...body },
});
const basicOf = ({ request }: Asked) =>
  Buffer.from(request.headers.authorization?.split(' ')[1] ?? '', 'base64').toString();
const hoursLeft = (at: Date | undefined) => Math.round((at!.getTime() - Date.now()) / HOUR);

describe('scopeSeparator', () => {
  test('is a blank, or a comma where the network declares it', async () => {
    expect((await queryOf({}))['scope']).toBe('read write');
    expect((await queryOf({ scopeSeparator: ',' }))['scope']).toBe('read,write');
    expect(await queryOf({ scopes: [] })).not.toHaveProperty('scope');
  });
});

describe('clientIdName', () => {
  test('names the client at the consent page, the exchange, the renewal and the revocation', async () => {
    const login = { clientIdName: 'client_key', revoke: { at: '/revoke' } };
    const client = { client_key: app.clientId, client_secret: app.clientSecret };
    expect(await queryOf(login)).toMatchObject({ client_key: app.clientId });
    expect(await queryOf(login)).not.toHaveProperty('client_id');
    routes['POST /token'] = (asked) => {
      const form = asked.form();
      const isRenewal = form['grant_type'] === 'refresh_token';
      demand(form, { ...(isRenewal ? { grant_type: 'refresh_token', refresh_token: 'r' } : usual), ...client });
      return gives();
    };
    routes['POST /revoke'] = (asked) => {
      demand(asked.form(), { token: 'access-1', ...client });
      return { status: 200, body: '' };
    };
    const tokens = await end(login);
    await renew(login, { ...tokens, refreshToken: 'r' });
    await providers.revoke(network(login), { app, values: {}, tokens });
    expect(server.asked).toEqual(['POST /token', 'POST /token', 'POST /revoke']);
  });
});

describe('secretIn', () => {
  test('is the body', async () => {
    routes['POST /token'] = (asked) => {
      demand(asked.form(), { ...usual, ...inBody });
      server.need(asked.request.headers.authorization === undefined, 'no header');
      return gives();
    };
    expect(await end({})).toEqual({ accessToken: 'access-1' });
  });

  test('is a header whose two parts are encoded as a form', async () => {
    routes['POST /token'] = (asked) => {
      demand(asked.form(), { ...usual, client_id: app.clientId });
      server.need(basicOf(asked) === 'the+client:the%2Bsecret%2F', basicOf(asked));
      return gives();
    };
    await end({ secretIn: 'header' });
  });

  test.each([
    ['declared', { secretIn: 'none' as const, pkce: true }, app],
    ['of an app without a secret', { pkce: true }, { ...app, clientSecret: '' }],
  ])('is nowhere for a public client, %s, which PKCE protects', async (_, login, one) => {
    const { kept } = await begin(login, one);
    routes['POST /token'] = (asked) => {
      demand(asked.form(), { ...usual, client_id: app.clientId, code_verifier: kept['verifier']! });
      server.need(asked.request.headers.authorization === undefined, 'no header');
      return gives();
    };
    await end(login, { kept, app: one });
  });
});

describe('exchangeBy', () => {
  test('sends the code by GET, and nothing else', async () => {
    routes['GET /token'] = ({ query }) => {
      demand(Object.fromEntries(query), { ...usual, ...inBody });
      return gives();
    };
    routes['POST /token'] = (asked) => {
      demand(asked.form(), { grant_type: 'refresh_token', refresh_token: 'r', ...inBody });
      return gives();
    };
    await end({ exchangeBy: 'GET' });
    await renew({ exchangeBy: 'GET' }, { accessToken: 'a', refreshToken: 'r' });
  });
});

describe('longLived', () => {
  test.each([
    ['fb_exchange_token', { tokenName: 'fb_exchange_token', withId: true as const }, inBody],
    ['ig_exchange_token', { tokenName: 'access_token' }, { client_secret: app.clientSecret }],
    ['th_exchange_token', { tokenName: 'access_token' }, { client_secret: app.clientSecret }],
  ])('exchanges the short token by %s', async (grant, more, client) => {
    routes['POST /token'] = () => gives({ access_token: 'short', expires_in: 3_600, user_id: 17 });
    routes['GET /long'] = ({ query }) => {
      demand(Object.fromEntries(query), { grant_type: grant, [more.tokenName]: 'short', ...client });
      return gives({ access_token: 'long', expires_in: 5_184_000 });
    };
    const tokens = await end({ longLived: { at: '/long', grant, ...more }, keeps: { answer: { user: 'user_id' } } });
    expect(tokens).toMatchObject({ accessToken: 'long', values: { user: '17' } });
    expect(hoursLeft(tokens.expiresAt)).toBe(1_440);
  });

  test('reads an answer that is wrapped in a list of data', async () => {
    routes['POST /token'] = () => ({ status: 200, body: { data: [{ access_token: 'a', permissions: 'read,write' }] } });
    expect(await end({})).toEqual({ accessToken: 'a' });
  });

  test('shows neither token when the second exchange fails', async () => {
    routes['POST /token'] = () => gives({ access_token: 'short-token' });
    routes['GET /long'] = () => ({ status: 400, body: { error: 'invalid_grant', said: 'short-token is spent' } });
    const error = await failureOf(end({ longLived: { at: '/long', grant: 'g', tokenName: 't' } }));
    expect(error).toMatchObject({ failure: 'reauthorize' });
    expect(inspect(error, { depth: 9 })).not.toMatch(/short-token|the\+secret/);
  });
});

describe('renewal', () => {
  test('is by the access token itself, while it expires', async () => {
    const login = { renewal: { at: '/renew', grant: 'th_refresh_token' } };
    routes['GET /renew'] = ({ query }) => {
      demand(Object.fromEntries(query), { grant_type: 'th_refresh_token', access_token: 'long' });
      return gives({ access_token: 'longer', expires_in: 5_184_000 });
    };
    const renewed = await renew(login, { accessToken: 'long', expiresAt: new Date(), values: { user: '17' } });
    expect(renewed).toMatchObject({ accessToken: 'longer', values: { user: '17' } });
    expect(await renew(login, { accessToken: 'for ever' })).toBeUndefined();
    expect(providers.renewalOf(network(login), { accessToken: 'a', expiresAt: new Date() })).toBe('itself');
  });

  test('is none where it is declared, also with a refresh token', async () => {
    expect(await renew({ renewal: 'none' }, { accessToken: 'a', refreshToken: 'r' })).toBeUndefined();
    expect(providers.renewalOf(network({ renewal: 'none' }), { accessToken: 'a', refreshToken: 'r' })).toBe('none');
  });

  test('is needless where calls take another credential: of the tokens nothing is kept that ends', async () => {
    routes['POST /token'] = () => gives({ access_token: 'a', refresh_token: 'r', expires_in: 60 });
    expect(await end({ renewal: 'needless' })).toEqual({ accessToken: 'a' });
    const tokens = { accessToken: 'a', refreshToken: 'r', expiresAt: new Date(0) };
    expect(await renew({ renewal: 'needless' }, tokens)).toBeUndefined();
    expect(providers.renewalOf(network({ renewal: 'needless' }), tokens)).toBe('needless');
  });

  test.each([
    ['invalid_grant', { status: 400, body: { error: 'invalid_grant' } }, 'reauthorize'],
    ['invalid_grant inside a 200', { status: 200, body: { error: 'invalid_grant' } }, 'reauthorize'],
    ['503', { status: 503 }, 'unavailable'],
    ['a broken connection', 'hang-up' as const, 'unavailable'],
    ['another refusal', { status: 400, body: { error: 'invalid_request' } }, 'rejected'],
  ])('that ends in %s is told apart', async (_, behaviour, failure) => {
    server.on('POST /token', behaviour);
    expect(await failureOf(renew({}, { accessToken: 'a', refreshToken: 'r' }))).toMatchObject({ failure });
  });
});

describe('refusal', () => {
  test('reads the words of the network beside those of the RFC', async () => {
    const refusal = z.object({ error: z.object({ code: z.literal(190) }) }).transform(() => 'reauthorize' as const);
    routes['POST /token'] = () => ({ status: 400, body: { error: { code: 190, message: 'expired' } } });
    expect(await failureOf(end({ refusal }))).toMatchObject({ failure: 'reauthorize' });
    expect(await failureOf(end({}))).toMatchObject({ failure: 'rejected' });
    routes['POST /token'] = () => ({ status: 400, body: { error: 'invalid_grant' } });
    expect(await failureOf(end({ refusal }))).toMatchObject({ failure: 'reauthorize' });
  });
});

describe('refreshExpiresAt', () => {
  test.each(['refresh_token_expires_in', 'refresh_expires_in'])('is read from %s', async (name) => {
    routes['POST /token'] = () => gives({ refresh_token: 'r', expires_in: '7200', [name]: 36_000 });
    const tokens = await end({});
    expect([hoursLeft(tokens.expiresAt), hoursLeft(tokens.refreshExpiresAt)]).toEqual([2, 10]);
  });

  test('stays with the refresh token that it belongs to', async () => {
    const refreshExpiresAt = new Date(Date.now() + HOUR);
    routes['POST /token'] = () => gives({ expires_in: 0 });
    const kept = await renew({}, { accessToken: 'a', refreshToken: 'r', refreshExpiresAt });
    expect(kept).toEqual({ accessToken: 'access-1', refreshToken: 'r', refreshExpiresAt });
    routes['POST /token'] = () => gives({ refresh_token: 'r2' });
    expect(await renew({}, kept!)).toEqual({ accessToken: 'access-1', refreshToken: 'r2' });
  });
});

describe('granted scopes', () => {
  const missing = async (login: Partial<OAuth2>, body: Record<string, unknown>) => {
    routes['POST /token'] = () => gives(body);
    const error = await failureOf(end(login));
    return [error.status, error.extra['missingScopes']];
  };

  test('that were asked and refused are named to the person', async () => {
    expect(await missing({}, { scope: 'read' })).toEqual([400, ['write']]);
    expect(await missing({}, { scope: 'profile,read' })).toEqual([400, ['write']]);
    expect(await missing({}, { permissions: ['write'] })).toEqual([400, ['read']]);
    expect((await failureOf(end({}))).message).toContain('Strict did not grant read: connect again');
  });

  test('may lack what is optional, cover what is beneath, and be left out of the answer', async () => {
    routes['POST /token'] = () => gives({ scope: 'read' });
    await end({ optionalScopes: ['write'] });
    await end({ scopes: ['read:accounts', 'read:statuses'] });
    routes['POST /token'] = () => gives();
    await end({});
  });

  test('are asked for where the answer does not list them', async () => {
    routes['POST /token'] = () => gives();
    const said = (status: string) => () => ({
      status: 200,
      body: {
        data: [
          { permission: 'read', status: 'granted' },
          { permission: 'write', status },
        ],
      },
    });
    routes['GET /permissions'] = said('declined');
    expect(await failureOf(end({ permissionsAt: '/permissions' }))).toMatchObject({
      extra: { missingScopes: ['write'] },
    });
    routes['GET /permissions'] = said('granted');
    await end({ permissionsAt: '/permissions' });
  });
});

describe('keeps', () => {
  const login = {
    pkce: true,
    secretIn: 'none' as const,
    exchangeAsks: { device_id: '{deviceId}', state: '{state}', company: '{company}' },
    renewAsks: { device_id: '{deviceId}', state: '{state}' },
    keeps: { callback: { deviceId: 'device_id' }, answer: { team: 'team.id', open: 'open_id' } },
  };
  const answer = { team: { id: 'T1' }, open_id: 5, refresh_token: 'r1' };

  test('takes values from callback and answer, and sends them again at the renewal', async () => {
    const { kept } = await begin(login);
    routes['POST /token'] = (asked) => {
      demand(asked.form(), {
        ...usual,
        client_id: app.clientId,
        code_verifier: kept['verifier']!,
        device_id: 'D1',
        state: 'the-state',
      });
      return gives(answer);
    };
    const tokens = await end(login, { kept, callback: { device_id: 'D1', code: 'the-code' } });
    expect(tokens.values).toEqual({ deviceId: 'D1', team: 'T1', open: '5' });
    routes['POST /token'] = (asked) => {
      const { state, ...form } = asked.form();
      server.need(/^[\w-]{32}$/.test(state!), 'a state');
      demand(form, { grant_type: 'refresh_token', refresh_token: 'r1', client_id: app.clientId, device_id: 'D1' });
      return gives({ refresh_token: 'r2' });
    };
    expect(await renew(login, tokens)).toMatchObject({ refreshToken: 'r2', values: tokens.values });
  });

  test('refuses a login that lacks one', async () => {
    expect(await failureOf(end(login))).toMatchObject({
      failure: 'rejected',
      message: expect.stringContaining('device_id'),
    });
    routes['POST /token'] = () => gives({ team: {} });
    expect(await failureOf(end(login, { callback: { device_id: 'D1' } }))).toMatchObject({
      failure: 'rejected',
      message: expect.stringContaining('team.id'),
    });
  });
});

describe('nonce', () => {
  const idToken = (nonce: string) =>
    `e30.${Buffer.from(JSON.stringify({ sub: '1', aud: 'a', exp: 9_999_999_999, nonce })).toString('base64url')}.x`;

  test('goes to the consent page, and an id_token of another login is refused', async () => {
    const { url, kept } = await begin({ nonce: true });
    expect(new URL(url).searchParams.get('nonce')).toBe(kept['nonce']);
    expect(await queryOf({})).not.toHaveProperty('nonce');
    routes['POST /token'] = () => gives({ id_token: idToken(kept['nonce']!) });
    expect(await end({ nonce: true }, { kept })).toEqual({ accessToken: 'access-1' });
    routes['POST /token'] = () => gives({ id_token: idToken('another') });
    expect(await failureOf(end({ nonce: true }, { kept }))).toMatchObject({ failure: 'rejected' });
  });
});

describe('revoke', () => {
  const tokens = { accessToken: 'a1', refreshToken: 'r1' };
  const revoke = (login: Partial<OAuth2>) => providers.revoke(network(login), { app, values: {}, tokens });

  test('sends the token that is declared, with the client', async () => {
    const forms: unknown[] = [];
    routes['POST /revoke'] = (asked) => {
      forms.push([asked.form(), asked.request.headers.authorization?.split(' ')[0]]);
      return { status: 200, body: '' };
    };
    await revoke({ revoke: { at: '/revoke' } });
    await revoke({ revoke: { at: '/revoke', of: 'refresh' }, secretIn: 'header' });
    await revoke({ revoke: { at: '/revoke', tokenName: 'access_token' }, secretIn: 'none' });
    await revoke({});
    expect(forms).toEqual([
      [{ token: 'a1', ...inBody }, undefined],
      [{ token: 'r1', client_id: app.clientId }, 'Basic'],
      [{ access_token: 'a1', client_id: app.clientId }, undefined],
    ]);
  });
});

describe('oauth1', () => {
  const consumer: App = { clientId: '', clientSecret: '', consumerKey: 'key', consumerSecret: 'consumer secret' };
  const oauth1: OAuth1 = {
    request: '/request',
    authorize: '/authorize',
    access: '/access',
    keeps: { user: 'user_id' },
  };
  const enc = (text: string) =>
    encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
  /** Verifies a signature by RFC 5849 3.4, written from the RFC: nothing of the product is used. */
  function verified(asked: Asked, tokenSecret: string, form: Record<string, string> = {}) {
    const header = asked.request.headers.authorization ?? '';
    const said = Object.fromEntries(
      [...header.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name!, decodeURIComponent(value!)]),
    );
    const { oauth_signature: signature, ...rest } = said;
    const pairs = [...Object.entries({ ...rest, ...form }), ...asked.query]
      .map(([name, value]) => `${enc(name)}=${enc(value)}`)
      .toSorted((a, b) => (a < b ? -1 : 1));
    const { pathname } = new URL(asked.request.url!, server.url);
    const base = [asked.request.method!, server.url + pathname, pairs.join('&')].map(enc).join('&');
    const right = createHmac('sha1', `${enc(consumer.consumerSecret!)}&${enc(tokenSecret)}`)
      .update(base)
      .digest('base64');
    server.need(signature === right, `signature of ${base}`);
    server.need(!nonces.has(said['oauth_nonce']!), 'a fresh nonce');
    nonces.add(said['oauth_nonce']!);
    return said;
  }
  const nonces = new Set<string>();
  const asForm = (fields: Record<string, string>): Said => ({
    status: 200,
    body: new URLSearchParams(fields).toString(),
  });

  test('logs in with signed requests, and signs each call of the channel', async () => {
    routes['POST /request'] = (asked) => {
      const said = verified(asked, '');
      server.need(said['oauth_callback'] === REDIRECT && said['oauth_token'] === undefined, 'callback');
      return asForm({ oauth_token: 'temporary', oauth_token_secret: 'ts&1', oauth_callback_confirmed: 'true' });
    };
    routes['POST /access'] = (asked) => {
      const said = verified(asked, 'ts&1');
      server.need(said['oauth_token'] === 'temporary' && said['oauth_verifier'] === 'the-verifier', 'verifier');
      return asForm({ oauth_token: 'token', oauth_token_secret: 'ts 2', user_id: '17', screen_name: 'ann' });
    };
    const { url, state, kept } = await begin({ oauth1 }, consumer);
    expect([new URL(url).pathname, new URL(url).search, state]).toEqual([
      '/authorize',
      '?oauth_token=temporary',
      'temporary',
    ]);
    const tokens = await providers.exchange(network({ oauth1 }), {
      app: consumer,
      values: {},
      redirectUri: REDIRECT,
      code: 'the-verifier',
      state,
      kept,
    });
    expect(tokens).toEqual({ accessToken: 'token', tokenSecret: 'ts 2', values: { user: '17' } });
    expect(providers.renewalOf(network({ oauth1 }), tokens)).toBe('none');

    routes['GET /me'] = (asked) => {
      verified(asked, 'ts 2');
      return { status: 200, body: { id: '17', name: 'Ann', handle: 'ann' } };
    };
    routes['POST /posts'] = (asked) => {
      server.need(verified(asked, 'ts 2', asked.form())['oauth_token'] === 'token', 'token');
      return { status: 200, body: { id: '1', url: 'https://strict.example/1' } };
    };
    const channel = providers.connect(network({ oauth1 }), { values: {}, account: '17', tokens, app: consumer });
    expect(await channel.profile()).toMatchObject({ id: '17' });
    const text = "Grüße & (more) it's *";
    const post = { id: 'p', text, plain: text, media: [] };
    expect(
      await channel.publish(post, {}, { saved: undefined, save: async () => undefined, thread: [] }),
    ).toMatchObject({ id: '1' });
  });

  test('is not used with an app that has a client id', async () => {
    const { url } = await begin({ oauth1 }, { ...consumer, ...app });
    expect(new URL(url).searchParams.get('client_id')).toBe(app.clientId);
  });

  test('refuses temporary credentials whose callback is not confirmed (RFC 5849 2.1)', async () => {
    routes['POST /request'] = () => asForm({ oauth_token: 'temporary', oauth_token_secret: 'secret' });
    expect(await failureOf(begin({ oauth1 }, consumer))).toMatchObject({ failure: 'unavailable' });
  });
});

describe('approval', () => {
  const bot: App = { clientId: 'bot', clientSecret: '', botToken: 'bot-token' };
  const approval = () =>
    social({
      ...network({}),
      login: {
        kind: 'approval',
        begin: async ({ app: { clientId }, state }) => ({
          url: `https://strict.example/approve/${clientId}/${state}`,
          kept: { request: 'request-1' },
        }),
        poll: async ({ http, app: { botToken }, kept }) => {
          const { token } = await http.get('/poll', z.object({ token: z.string().nullish() }), {
            query: { request: kept['request'], bot: botToken },
          });
          return token ? { accessToken: token } : undefined;
        },
      },
    });

  test('answers an address, then nothing while it waits, then tokens', async () => {
    let approved = false;
    routes['GET /poll'] = ({ query }) => {
      demand(Object.fromEntries(query), { request: 'request-1', bot: 'bot-token' });
      return { status: 200, body: { token: approved ? 't1' : null } };
    };
    const call = { app: bot, values: {} };
    const { url, kept } = await providers.authorize(approval(), { ...call, redirectUri: REDIRECT, state: 's1' });
    expect(url).toBe('https://strict.example/approve/bot/s1');
    expect(await providers.poll(approval(), { ...call, kept, callback: {} })).toBeUndefined();
    approved = true;
    expect(await providers.poll(approval(), { ...call, kept, callback: {} })).toEqual({ accessToken: 't1' });
  });

  test('shows no secret of the app when the network fails', async () => {
    routes['GET /poll'] = () => ({ status: 403, body: { error: 'bot-token of request-1 is not known' } });
    const kept = { request: 'request-1' };
    const error = await failureOf(providers.poll(approval(), { app: bot, values: {}, kept, callback: {} }));
    expect(inspect(error, { depth: 9 })).not.toMatch(/bot-token|request-1/);
  });
});

import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { failureOf, type FakeHttp, startHttp } from '../../support/peers/fake-network.ts';
import { adapters } from '../../../src/providers/registry/registry.gen.ts';
import { localProviders } from '../../support/worlds/providers.ts';

const app = { clientId: 'the-client', clientSecret: 'the-app-secret' };
let server: FakeHttp;
let providers: ReturnType<typeof localProviders>;
let rotate = true;

beforeAll(async () => {
  server = await startHttp(
    {
      'POST /oauth/token': (asked) => {
        const form = asked.form();
        server.need(
          form['grant_type'] === 'refresh_token' &&
            form['client_id'] === app.clientId &&
            form['client_secret'] === app.clientSecret,
          'refresh request',
        );
        if (form['refresh_token'] !== 'refresh-1')
          return {
            status: 400,
            body: { error: 'invalid_grant', error_description: `${form['refresh_token']} is spent` },
          };
        return {
          status: 200,
          body: { access_token: 'access-2', expires_in: 3600, ...(rotate && { refresh_token: 'refresh-2' }) },
        };
      },
    },
    (error) => ({ status: 400, body: { error } }),
  );
  providers = localProviders({ apps: { mastodon: { ...app, server: 'https://home.example' }, pixelfed: app } });
});
afterAll(async () => {
  await providers[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  expect(server.faults).toEqual([]);
});
beforeEach(() => {
  rotate = true;
  server.on('POST /oauth/token', 'garbage', 0);
});

const adapter = () => providers.resolve('social', 'pixelfed');
const refresh = (refreshToken?: string) =>
  providers.refresh(adapter(), {
    values: { instance: server.url },
    app,
    tokens: { accessToken: 'access-1', ...(refreshToken !== undefined && { refreshToken }) },
  });

test('a refresh replaces both tokens where the network rotates them, else keeps the refresh token', async () => {
  const rotated = (await refresh('refresh-1'))!;
  expect(rotated).toMatchObject({ accessToken: 'access-2', refreshToken: 'refresh-2' });
  expect(Math.abs(rotated.expiresAt!.getTime() - new Date().getTime() - 3_600_000)).toBeLessThan(300_000);
  rotate = false;
  expect(await refresh('refresh-1')).toMatchObject({ accessToken: 'access-2', refreshToken: 'refresh-1' });
  expect(await refresh()).toBeUndefined();
});

test('a used refresh token is reauthorize, a network error unavailable', async () => {
  const refusal = await failureOf(refresh('refresh-0'));
  expect(refusal).toMatchObject({ failure: 'reauthorize' });
  expect(refusal.message).not.toContain('refresh-0');
  for (const [status, failure] of [
    [500, 'unavailable'],
    [503, 'unavailable'],
    [429, 'rate_limited'],
    [401, 'reauthorize'],
  ] as const) {
    server.on('POST /oauth/token', { status }, 1);
    expect(await failureOf(refresh('refresh-1'))).toMatchObject({ failure });
  }
  for (const behaviour of ['hang-up', 'garbage'] as const) {
    server.on('POST /oauth/token', behaviour, 1);
    expect(await failureOf(refresh('refresh-1'))).toMatchObject({ failure: 'unavailable' });
  }
});

test('the app of an organization wins over that of the operator, at its own server [DE42]', () => {
  const mastodon = providers.resolve('social', 'mastodon');
  const own = { clientId: 'theirs', clientSecret: 'secret', server: 'https://theirs.example' };
  expect(providers.ownApp(mastodon, { instance: 'https://theirs.example' }, own)).toEqual(own);
  expect(providers.ownApp(mastodon, { instance: 'https://home.example' }, own)).toMatchObject(app);
  const anywhere = { clientId: 'theirs', clientSecret: 'secret' };
  expect(providers.ownApp(mastodon, { instance: 'https://home.example' }, anywhere)).toEqual(anywhere);
});

test("the operator's own app is used for its own server only", () => {
  const mastodon = providers.resolve('social', 'mastodon');
  expect(providers.ownApp(mastodon, { instance: 'https://home.example' })).toMatchObject(app);
  expect(providers.ownApp(mastodon, { instance: 'https://elsewhere.example' })).toBeUndefined();
  expect(providers.ownApp(providers.resolve('social', 'bluesky'), {})).toBeUndefined();
});

test('the catalog lists registered providers, featured ones first, then by name', () => {
  const names = providers.catalog('social').map(({ providerId }) => providerId);
  const byTitle = adapters
    .filter(({ domain }) => domain === 'social')
    .toSorted((a, b) => a.title.localeCompare(b.title, 'en'));
  expect(names).toEqual(byTitle.map(({ id }) => id));
  expect(names).toEqual(expect.arrayContaining(['bluesky', 'mastodon', 'nostr', 'pixelfed', 'sandbox']));
  expect(
    providers
      .catalog(
        undefined,
        new Map([
          ['social/nostr', 2],
          ['social/pixelfed', 1],
        ]),
      )
      .map(({ providerId }) => providerId)
      .slice(0, 3),
  ).toEqual(['pixelfed', 'nostr', 'adobe-stock']); // of all domains
  expect(providers.catalog('ai').map(({ domain }) => domain)).toEqual(Array.from({ length: 30 }, () => 'ai'));
  expect(() => providers.catalog('nonsense')).toThrow(expect.objectContaining({ code: 'unknown_domain', status: 400 }));
});

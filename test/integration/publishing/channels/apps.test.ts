import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { readConfig } from '../../../../src/platform/config/index.ts';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { clientApp } from '../../../../src/providers/kit/protocols/oauth.ts';
import { social, type SocialAdapter } from '../../../../src/providers/social/_contract.ts';
import { testDatabase } from '../../../support/wire/database.ts';
import { failureOf, type FakeHttp, startHttp } from '../../../support/peers/fake-network.ts';
import { noEngine } from '../../../support/worlds/app.ts';
import { openPublishing } from '../../../support/worlds/publishing/world.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let world: Awaited<ReturnType<typeof openPublishing>>;
let server: FakeHttp;
const person = { orgId: newId(), userId: newId(), mayUpdate: true };
const other = { orgId: newId(), userId: person.userId, mayUpdate: true };
const by = { userId: person.userId, impersonatorId: null, ip: null };
/** The apps that the adapter was handed. */
const handed: unknown[] = [];
let approved = false;

const networkOf = (login: SocialAdapter['login'], id: string) =>
  social({
    id,
    version: 'v99',
    title: `The ${id}`,
    description: 'A network of these tests.',
    status: 'active',
    authType: 'oauth2',
    credentials: {},
    app: clientApp,
    api: server.url,
    auth: { in: 'token' },
    once: 'at-most-once',
    threads: 'none',
    limits: { text: 100, unit: 'characters', media: 0, mediaTypes: [] },
    settings: z.looseObject({}),
    login,
    async profile({ http, app }) {
      handed.push(app);
      return http.get('/me', z.object({ id: z.string(), name: z.string(), handle: z.string() }));
    },
    publish: () => Promise.reject(new Error('nothing is published here')),
  });

beforeAll(async () => {
  db = await testDatabase();
  await db.sql`insert into organizations (id, name) values (${person.orgId}, 'Acme'), (${other.orgId}, 'Other')`;
  await db.sql`
    insert into users (id, email, provider_name, provider_id)
    values (${person.userId}, 'a@example.com', 'local', ${person.userId})`;
  server = await startHttp(
    {
      'POST /token': () => ({ status: 200, body: { access_token: 'token' } }),
      'GET /me': () => ({ status: 200, body: { id: '1', name: 'Ann', handle: 'ann' } }),
    },
    (error) => ({ status: 400, body: { error } }),
  );
  const consent = { kind: 'oauth2' as const, authorize: '/authorize', token: '/token', scopes: ['read'] };
  const approval = {
    kind: 'approval' as const,
    begin: async ({ state }: { state: string }) => ({
      url: `https://approve.example/${state}`,
      kept: { request: 'r1' },
    }),
    poll: async ({ kept }: { kept: Readonly<Record<string, string>> }) =>
      approved && kept['request'] === 'r1' ? { accessToken: 'token' } : undefined,
  };
  world = await openPublishing({
    url: db.url,
    env: {
      SLACK_ID: 'operators',
      SLACK_SECRET: 'operators-secret',
      KICK_CLIENT_ID: 'kick',
      KICK_SECRET: 'kick-secret',
    },
    adapters: [networkOf(consent, 'slack'), networkOf(consent, 'unset'), networkOf(approval, 'kick')],
  });
});
afterAll(async () => {
  const { faults } = server;
  await world?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  expect(faults).toEqual([]);
});
afterEach(async () => {
  handed.length = 0;
  approved = false;
  await db.sql`truncate channels, connect_states, provider_settings, outbox cascade`;
});

const listed = async (orgId: string) => (await world.channels.networks(orgId)).map(({ id }) => id);
const setApp = (providerId: string) =>
  world.providerSettings.create(
    person.orgId,
    { domain: 'social', providerId, credentials: { clientId: 'theirs', clientSecret: 'their-secret' } },
    by,
  );
const stateIn = (url: string) => new URL(url).searchParams.get('state') ?? new URL(url).pathname.slice(1);

describe('networks', () => {
  test('lists a network whose app the operator has for every organization [DE41, S128]', async () => {
    for (const { orgId } of [person, other]) {
      expect(await listed(orgId)).toContain('slack');
      expect(await listed(orgId)).not.toContain('unset');
    }
    expect(await world.channels.canBeginAlone(person.orgId, 'slack')).toBe(true);
    expect(await world.channels.canBeginAlone(person.orgId, 'unset')).toBe(false);
  });

  /** Every pair of the interface, `Deployment settings`; LINE is read, and no network uses it. */
  const PAIRS: Readonly<Record<string, readonly [string, string]>> = {
    x: ['X_CLIENT_ID', 'X_CLIENT_SECRET'],
    linkedin: ['LINKEDIN_CLIENT_ID', 'LINKEDIN_CLIENT_SECRET'],
    facebook: ['FACEBOOK_APP_ID', 'FACEBOOK_APP_SECRET'],
    instagram: ['FACEBOOK_APP_ID', 'FACEBOOK_APP_SECRET'],
    discord: ['DISCORD_CLIENT_ID', 'DISCORD_CLIENT_SECRET'],
    slack: ['SLACK_ID', 'SLACK_SECRET'],
    tiktok: ['TIKTOK_CLIENT_ID', 'TIKTOK_CLIENT_SECRET'],
    youtube: ['YOUTUBE_CLIENT_ID', 'YOUTUBE_CLIENT_SECRET'],
    pinterest: ['PINTEREST_CLIENT_ID', 'PINTEREST_CLIENT_SECRET'],
    reddit: ['REDDIT_CLIENT_ID', 'REDDIT_CLIENT_SECRET'],
    twitch: ['TWITCH_CLIENT_ID', 'TWITCH_CLIENT_SECRET'],
    threads: ['THREADS_APP_ID', 'THREADS_APP_SECRET'],
    dribbble: ['DRIBBBLE_CLIENT_ID', 'DRIBBBLE_CLIENT_SECRET'],
    mastodon: ['MASTODON_CLIENT_ID', 'MASTODON_CLIENT_SECRET'],
    mewe: ['MEWE_APP_ID', 'MEWE_API_KEY'],
    kick: ['KICK_CLIENT_ID', 'KICK_SECRET'],
    gmb: ['GOOGLE_GMB_CLIENT_ID', 'GOOGLE_GMB_CLIENT_SECRET'],
    wrapcast: ['NEYNAR_CLIENT_ID', 'NEYNAR_SECRET_KEY'],
    vk: ['VK_ID', 'VK_SECRET'],
    whop: ['WHOP_CLIENT_ID', 'WHOP_CLIENT_SECRET'],
    telegram: ['TELEGRAM_BOT_NAME', 'TELEGRAM_TOKEN'],
  };
  test('begins a login with the app of the environment at each of the networks that have one there [DE39]', async () => {
    const env = Object.fromEntries(
      [...Object.values(PAIRS), ['LINE_CLIENT_ID', 'LINE_CLIENT_SECRET'] as const].flatMap(([id, secret]) => [
        [id, 'an-app'],
        [secret, 'its-secret'],
      ]),
    );
    await using without = await openPublishing({ url: db.url, engine: noEngine });
    await using having = await openPublishing({
      url: db.url,
      engine: noEngine,
      env: { ...env, MASTODON_URL: 'https://social.example' },
    });
    const alone = async ({ channels }: Pick<typeof having, 'channels'>) => {
      const begins = await Promise.all(Object.keys(PAIRS).map((id) => channels.canBeginAlone(person.orgId, id)));
      return Object.keys(PAIRS).filter((_, n) => begins[n]);
    };
    expect(await alone(without)).toEqual([]);
    expect(await alone(having)).toEqual(Object.keys(PAIRS).filter((id) => id !== 'mastodon')); // asks for the server
    const { url } = await having.channels.begin(person, 'mastodon', { externalUrl: 'https://social.example' });
    expect(url).toMatch(/^https:\/\/social\.example\/.*client_id=an-app/);
    const { issues } = readConfig({ LINE_CLIENT_ID: 'an-app' });
    expect(issues).toContainEqual(expect.objectContaining({ setting: 'LINE_CLIENT_SECRET', level: 'warning' }));
  });

  test('lists a network whose app an organization has set for that organization alone [DE42]', async () => {
    const refused = await failureOf(world.channels.begin(person, 'unset', {}));
    expect(refused).toMatchObject({
      status: 400,
      message: expect.stringContaining('settings of the provider social/unset'),
    });
    await setApp('unset');
    expect(await listed(person.orgId)).toContain('unset');
    expect(await listed(other.orgId)).not.toContain('unset');
    const { url } = await world.channels.begin(person, 'unset', {});
    expect(new URL(url).searchParams.get('client_id')).toBe('theirs');
  });
});

describe('an app that is deleted', () => {
  const removal = (id: string) => world.providerSettings.remove(person.orgId, id, by);
  const begin = async () => stateIn((await world.channels.begin(person, 'unset', {})).url);
  const complete = (state: string) => world.channels.complete({ ...person, by }, 'unset', { code: 'c', state });

  test('since a login with it began ends that login [S157]', async () => {
    const { id } = await setApp('unset');
    const state = await begin();
    await removal(id);
    expect(await failureOf(complete(state))).toMatchObject({
      status: 400,
      message: expect.stringContaining('deleted'),
    });
    expect(await db.sql`select from channels`).toHaveLength(0);
  });
});

describe('complete', () => {
  test('hands the adapter the app of the organization before that of the operator [DE42]', async () => {
    const operators = stateIn((await world.channels.begin(other, 'slack', {})).url);
    await world.channels.complete(other, 'slack', { code: 'c', state: operators });
    await setApp('slack');
    const theirs = stateIn((await world.channels.begin(person, 'slack', {})).url);
    await world.channels.complete(person, 'slack', { code: 'c', state: theirs });
    expect(handed).toEqual([
      { clientId: 'operators', clientSecret: 'operators-secret' },
      { clientId: 'theirs', clientSecret: 'their-secret' },
    ]);
  });

  test('answers 409 and keeps the state while an approval is waited for, and connects after it', async () => {
    const state = stateIn((await world.channels.begin(person, 'kick', {})).url);
    for (const _ of [1, 2])
      expect(await failureOf(world.channels.complete(person, 'kick', { state }))).toMatchObject({
        code: 'conflict',
        extra: { pending: true },
      });
    expect(await failureOf(world.channels.complete(other, 'kick', { state }))).toMatchObject({ status: 400 });
    approved = true;
    expect(await world.channels.complete(person, 'kick', { state })).toMatchObject({ created: true });
    expect(await failureOf(world.channels.complete(person, 'kick', { state }))).toMatchObject({ status: 400 });
  });

  test('answers every one of several questions about one approval, and ends it once [S130]', async () => {
    const state = stateIn((await world.channels.begin(person, 'kick', {})).url);
    const ask = () =>
      Promise.allSettled(Array.from({ length: 5 }, () => world.channels.complete(person, 'kick', { state })));
    const codes = (asked: Awaited<ReturnType<typeof ask>>) =>
      asked.map((one) => (one.status === 'fulfilled' ? 'connected' : (one.reason as { code: string }).code)).toSorted();
    expect(codes(await ask())).toEqual(Array(5).fill('conflict'));
    expect(await db.sql`select 1 from connect_states`).toHaveLength(1);
    approved = true;
    expect(codes(await ask())).toEqual(['connected', ...Array<string>(4).fill('invalid_request')]);
    expect(await db.sql`select 1 from connect_states`).toHaveLength(0);
  });
});

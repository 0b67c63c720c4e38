import { describe, expect } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { type Visit } from '../../support/wire/outside.ts';
import { startReceiver } from '../../support/wire/receiver.ts';
import { effectsOf } from '../../support/worlds/settings/settings-table.ts';
import { type Env, settingsWorld } from '../../support/worlds/settings/settings-world.ts';

// Settings given to the product as a user runs it, and seen from outside: channels, posts and stock media.

const world = settingsWorld([
  'social.example',
  'api.unsplash.com',
  'api.pexels.com',
  'pixabay.com',
  'api.giphy.com',
  'api.openverse.org',
]);
const { at, open, whole } = world;
const effect = effectsOf('publishing');

describe('channels and posts', () => {
  const NOW = { type: 'now', date: '2026-01-01T00:00:00Z', shortLink: false, tags: [] };
  effect(
    ['MASTODON_URL', 'MASTODON_CLIENT_ID', 'MASTODON_CLIENT_SECRET'],
    'one click connects with the app of the operator',
    async () => {
      world.outside.on('social.example', () => ({ status: 400, json: { error: 'invalid_grant' } }));
      await using app = await open({
        MASTODON_URL: 'https://social.example',
        MASTODON_CLIENT_ID: 'the-client',
        MASTODON_CLIENT_SECRET: 'the-secret',
      });
      const begun = await at(app).get('/integrations/social/mastodon?externalUrl=https://social.example');
      const page = new URL(begun.body.url);
      expect([page.origin, page.searchParams.get('client_id')]).toEqual(['https://social.example', 'the-client']);
      await at(app).post('/integrations/social-connect/mastodon', {
        code: 'the-code',
        state: page.searchParams.get('state'),
      });
      expect(world.outside.to('social.example').find(({ path }) => path === '/oauth/token')!.body).toContain(
        'the-secret',
      );
    },
  );
  effect(['BLUESKY_PLC_URL'], 'says where an account lives that is to be connected', async () => {
    const did = `did:plc:${'a'.repeat(24)}`;
    await using server = await startReceiver({
      answer: (response) =>
        void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ accessJwt: 'x.e30.x', refreshJwt: 'r', did, handle: 'a.test' })),
    });
    await using directory = await startReceiver({ answer: (response) => void response.writeHead(404).end() });
    await using app = await open({ SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32', BLUESKY_PLC_URL: directory.url });
    const fields = { service: server.url, identifier: 'a.test', password: 'app-password' };
    expect((await at(app).post('/integrations/social-connect/bluesky', { fields })).status).toBe(400);
    expect(directory.ledger.map(({ path }) => path)).toEqual([`/${did}`]);
  });
  effect(
    ['INTEGRATION_RETURN_URL_ALLOWLIST'],
    'a connect flow returns there, and to no other origin [DE25]',
    async () => {
      const ask = async (env: Env) => {
        const asked = {
          MASTODON_URL: 'https://social.example',
          MASTODON_CLIENT_ID: 'c',
          MASTODON_CLIENT_SECRET: 'the-secret',
          ...env,
        };
        await using app = await open(asked);
        return (
          await at(app).get(
            `/integrations/social/mastodon?externalUrl=https://social.example&returnUrl=${encodeURIComponent('https://partner.example/x')}`,
          )
        ).status;
      };
      expect([await ask({}), await ask({ INTEGRATION_RETURN_URL_ALLOWLIST: 'https://partner.example' })]).toEqual([
        400, 200,
      ]);
    },
  );
  effect(
    ['RESTRICT_UPLOAD_DOMAINS', 'REMINDER_HORIZON_HOURS'],
    'media come from there alone; what is due later than that waits in its row',
    async () => {
      await using product = await whole(
        { RESTRICT_UPLOAD_DOMAINS: 'cdn.example', REMINDER_HORIZON_HOURS: '2' },
        { sandbox: true },
      );
      const { client } = await product.signUp();
      const schedule = async (hours: number, image: object[] = []) => {
        const channel = await client.post('/integrations/social-connect/sandbox', {
          fields: { name: newId() },
          allowPreview: true,
        });
        const posts = [{ integration: { id: channel.body.id }, value: [{ content: 'Hi', image }], settings: {} }];
        const { status, body } = await client.post('/posts', {
          ...NOW,
          type: 'schedule',
          date: new Date(Date.now() + hours * 3_600_000).toISOString(),
          posts,
        });
        const reminders = await product.db
          .sql`select from actor_reminders where id like ${`%${channel.body.id}`} and name = 'due'`;
        return { status, code: body.code as unknown, reminders: reminders.count };
      };
      expect(await schedule(1)).toMatchObject({ status: 201, reminders: 1 });
      expect(await schedule(3)).toMatchObject({ status: 201, reminders: 0 });
      expect(await schedule(1, [{ path: 'https://elsewhere.example/a.png' }])).toMatchObject({
        status: 400,
        code: 'media_domain_not_allowed',
      });
    },
  );
  effect(['PROVIDER_CALLS_IN_FLIGHT'], 'so many calls are under way at a time', async () => {
    const full = Promise.withResolvers<void>();
    let [underWay, most, taken] = [0, 0, 0];
    await using network = await startReceiver({
      answer(response, { path, headers, body }) {
        const said = (value: object) =>
          response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
        if (path === '/accounts') return said({ id: 'a', token: JSON.parse(String(body)).name });
        if (path === '/me') return said({ id: headers.authorization, name: 'Ann' });
        most = Math.max(most, (underWay += 1));
        void full.promise.then(() =>
          setTimeout(() => {
            underWay -= 1;
            taken += 1;
            said({ id: newId(), url: 'https://sandbox.example/1' });
          }, 20),
        );
      },
    });
    await using product = await whole({ PROVIDER_CALLS_IN_FLIGHT: '2' }, { sandboxUrl: network.url });
    // of organizations of their own: one alone leaves turns for whoever comes
    const channels = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const { client } = await product.signUp();
        return {
          client,
          id: (
            await client.post('/integrations/social-connect/sandbox', { fields: { name: newId() }, allowPreview: true })
          ).body.id,
        };
      }),
    );
    for (const { client, id } of channels)
      expect(
        (
          await client.post('/posts', {
            ...NOW,
            posts: [{ integration: { id }, value: [{ content: 'Hi' }], settings: {} }],
          })
        ).status,
      ).toBe(201);
    await eventually(
      'all have begun',
      async () => (await product.db.sql`select from channels where slot_incarnation is not null`).count === 6,
    );
    await eventually('as many as may be are under way', () => underWay === 2);
    full.resolve();
    await eventually('all are taken', () => taken === 6);
    expect(most).toBe(2);
  });
  effect(
    ['STRIP_LINKS_FROM_X_POSTS'],
    'a post to X goes out without its links, is judged without them, and whoever writes it is told',
    async () => {
      const long = `${'x'.repeat(270)} https://a.example/${'y'.repeat(40)}`;
      const scheduled = async (env: Env) => {
        await using product = await whole(env);
        const { client, orgId, withKey } = await product.signUp();
        const channelId = newId();
        await product.db.sql`
        insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
        values (${channelId}, ${orgId}, 'x', 'v1', ${channelId}, 'c', 'v2:')`;
        const key = await withKey();
        const { rules } = (await key.get(`/public/v1/integration-settings/${channelId}`)).body.output;
        const { integrations } = (await client.get('/integrations/list')).body;
        const answers: unknown[] = [integrations[0].stripLinks, rules.includes('links are removed from the text')];
        for (const content of ['https://a.example/', long]) {
          const posts = [{ integration: { id: channelId }, value: [{ content }], settings: {} }];
          const body = { type: 'schedule', date: '2036-01-01T00:00:00Z', shortLink: false, tags: [], posts };
          answers.push((await client.post('/posts', body)).status);
        }
        return answers;
      };
      expect([await scheduled({}), await scheduled({ STRIP_LINKS_FROM_X_POSTS: 'true' })]).toEqual([
        [false, false, 201, 400],
        [true, true, 400, 201],
      ]);
    },
  );
  effect(['POST_LATE_SECONDS'], 'what is due for longer is told as late', async () => {
    const channelId = newId();
    await world.db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials, next_due_at)
      values (${channelId}, ${world.ann.orgId}, 'sandbox', 'v1', ${channelId}, 'c', 'v2:', now() - interval '30 s')`;
    await world.db.sql`
      insert into posts (id, org_id, channel_id, group_id, state, detail, content, publish_date, due_at)
      values (${newId()}, ${world.ann.orgId}, ${channelId}, 'g', 'QUEUE', 'scheduled', 'Hi', now() - interval '30 s',
        now() - interval '30 s')`;
    const late = async (env: Env) => {
      await using app = await open(env);
      return (await at(app).get('/admin/queue')).body.late;
    };
    expect([await late({ POST_LATE_SECONDS: '10' }), await late({ POST_LATE_SECONDS: '86400' })]).toEqual([1, 0]);
  });
  effect(['MISSED_AFTER_MINUTES'], 'what an outage made so late is missed', async () => {
    const [channelId, postId] = [newId(), newId()];
    await world.db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials, next_due_at)
      values (${channelId}, ${world.ann.orgId}, 'sandbox', 'v1', ${channelId}, 'c', 'v2:', now() - interval '2 hours')`;
    await world.db.sql`
      insert into posts (id, org_id, channel_id, group_id, state, detail, content, publish_date, due_at, updated_at)
      values (${postId}, ${world.ann.orgId}, ${channelId}, 'g', 'QUEUE', 'scheduled', 'Hi', now() - interval '2 hours',
        now() - interval '2 hours', now() - interval '1 day')`;
    const told = async (env: Env) => {
      await using app = await open(env);
      await app.context.posts.judgeMissed({ beganAt: new Date(Date.now() - 10_800_000), endedAt: new Date() });
      return (await at(app).get(`/posts/${postId}/timeline`)).body.items.length;
    };
    expect([await told({ MISSED_AFTER_MINUTES: '150' }), await told({ MISSED_AFTER_MINUTES: '100' })]).toEqual([0, 1]);
  });
  effect(['COMMENTS_SWEEP_INTERVAL_MINUTES'], 'comments of a channel are read so often [AN3]', async () => {
    const within = async (env: Env) => {
      await using app = await open(env);
      const ids = Array.from({ length: 20 }, newId);
      for (const id of ids)
        await world.db.sql`
          insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
          values (${id}, ${world.ann.orgId}, 'mastodon', 'v1', ${id}, 'c', 'v2:')`;
      await app.context.comments.sweepComments(500);
      const [row] = await world.db.sql<{ minutes: number }[]>`
        select ceil(max(extract(epoch from next_run_at - now())) / 60)::int as minutes
        from comment_sweeps
        where channel_id = any(${ids}::uuid[])`;
      return row!.minutes;
    };
    expect(await within({ COMMENTS_SWEEP_INTERVAL_MINUTES: '2' })).toBeLessThanOrEqual(2);
    const hour = await within({ COMMENTS_SWEEP_INTERVAL_MINUTES: '600' });
    expect(hour).toBeGreaterThan(2);
    expect(hour).toBeLessThanOrEqual(600);
  });
  effect(['POST_LATE_SECONDS'], 'what goes out later than that is announced as late', async () => {
    await using hook = await startReceiver();
    await using product = await whole({ POST_LATE_SECONDS: '1800' }, { sandbox: true });
    const { client } = await product.signUp();
    const heard = { name: 'late', url: hook.url, integrations: [], events: ['post.published', 'post.late'] };
    expect((await client.post('/webhooks', heard)).status).toBe(201);
    const told = () =>
      hook.ledger.map(({ body }) => JSON.parse(String(body)) as { event: string; data: { postId: string } });
    const channel = await client.post('/integrations/social-connect/sandbox', {
      fields: { name: newId() },
      allowPreview: true,
    });
    const publish = async (minutesAgo: number, event: string) => {
      const posts = [{ integration: { id: channel.body.id }, value: [{ content: 'Hi', image: [] }], settings: {} }];
      const date = new Date(Date.now() - minutesAgo * 60_000).toISOString();
      const { body } = await client.post('/posts', { ...NOW, type: 'schedule', date, posts });
      const [{ postId }] = body as [{ postId: string }];
      await eventually(`${event} is told`, () =>
        told().some(({ event: name, data }) => name === event && data.postId === postId),
      );
      return postId;
    };
    await publish(10, 'post.published');
    const late = await publish(60, 'post.late'); // the hook hears of one thing after the other
    expect(told().flatMap(({ event, data }) => (event === 'post.late' ? [data.postId] : []))).toEqual([late]);
  });
});

describe('stock media', () => {
  const KEYS = {
    unsplash: 'UNSPLASH_ACCESS_KEY',
    pexels: 'PEXELS_API_KEY',
    pixabay: 'PIXABAY_API_KEY',
    giphy: 'GIPHY_API_KEY',
  } as const;
  const HOST = {
    unsplash: 'api.unsplash.com',
    pexels: 'api.pexels.com',
    pixabay: 'pixabay.com',
    giphy: 'api.giphy.com',
  };
  effect(
    [...Object.values(KEYS), 'OPENVERSE_CLIENT_ID', 'OPENVERSE_CLIENT_SECRET'],
    'each source is asked with its key [DE43]',
    async () => {
      await using app = await open({
        ...Object.fromEntries(Object.entries(KEYS).map(([source, name]) => [name, `key-of-${source}`])),
        OPENVERSE_CLIENT_ID: 'ov-client',
        OPENVERSE_CLIENT_SECRET: 'ov-secret',
      });
      for (const source of Object.keys(KEYS) as (keyof typeof KEYS)[]) {
        await at(app).get(`/files/stock?source=${source}&q=lake`);
        const [{ headers, query }] = world.outside.to(HOST[source]) as [Visit];
        expect([source, `${headers.authorization} ${query}`]).toEqual([
          source,
          expect.stringContaining(`key-of-${source}`),
        ]);
      }
      await at(app).get('/files/stock?source=openverse&q=lake');
      expect([...new URLSearchParams(world.outside.to('api.openverse.org')[0]!.body)]).toEqual(
        expect.arrayContaining([
          ['client_id', 'ov-client'],
          ['client_secret', 'ov-secret'],
        ]),
      );
    },
  );
});

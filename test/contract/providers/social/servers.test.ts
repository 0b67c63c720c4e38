// oxlint-disable max-lines -- one table of the contract, for each network with a server of its own here
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { readdir, readFile } from 'node:fs/promises';
import { inspect } from 'node:util';
import sharp from 'sharp';
import {
  catalogEntryOf,
  type Media,
  type Published,
  type SocialAdapter,
  type Tokens,
} from '../../../../src/providers/registry/index.ts';
import { adapters } from '../../../../src/providers/registry/registry.gen.ts';
import { failureOf, type FakeNetwork, type Fixture } from '../../../support/peers/fake-network.ts';
import { mediaOf } from '../../../support/worlds/media-of.ts';
import { handleOf, localProviders, lookUp, postOf, type PublishingChannel } from '../../../support/worlds/providers.ts';

/** The recorded facts of a network; a test compares the adapter with them. */
interface Facts {
  title: string;
  credentialFields: { name: string; secret: boolean }[];
  oauth: { authorizeUrl: string; tokenUrl: string; scopes: string[]; pkce: boolean } | null;
  limits: { maxLength: number; maxImages: number | null; imageMaxBytes: number | null; requiresMedia: boolean };
  idempotency: 'key' | 'two-phase' | 'own-id' | 'read-back' | 'at-most-once';
}

const FOLDER = new URL('../../../fixtures/providers/social-servers/', import.meta.url);
const social = adapters.filter((adapter) => adapter.domain === 'social');
const REDIRECT = 'https://rookery.example/integrations/social/callback';
const PLACEHOLDER = /\{(\w+)\}/g;

/** The login with the addresses of declared hosts written out. */
const atHosts = ({ hosts = {}, login }: SocialAdapter) =>
  JSON.parse(JSON.stringify(login).replace(PLACEHOLDER, (whole, name: string) => hosts[name] ?? whole)) as object;

const picture = async (alt: string): Promise<Media> => {
  const data = await sharp({ create: { width: 64, height: 48, channels: 3, background: '#a33' } })
    .png()
    .toBuffer();
  return mediaOf(data, {
    name: 'red.png',
    contentType: 'image/png',
    alt,
    publicUrl: 'https://files.rookery.example/red.png',
  });
};

/** The networks with a server of their own here; `social.test.ts` shows the others by their exchanges. */
const withServers = new Set((await readdir(FOLDER)).map((file) => file.split('.')[0]));
const registered = await Promise.all(
  social
    .filter(({ id }) => withServers.has(id))
    .map(async (adapter) => ({
      name: `social/${adapter.id}@${adapter.version}`,
      adapter,
      fixture: ((await import(new URL(`${adapter.id}.ts`, FOLDER).pathname)) as { default: Fixture }).default,
      facts: JSON.parse(await readFile(new URL(`${adapter.id}.facts.json`, FOLDER), 'utf8')) as Facts,
    })),
);

/**
 * The sandbox as a network that takes no media at all: the suite asks of nobody what only networks with media can do.
 */
const textOnly = registered
  .filter(({ adapter }) => adapter.id === 'sandbox')
  .map(({ adapter, fixture, facts, name }) => ({
    name: `${name} without media`,
    adapter: { ...adapter, limits: { ...adapter.limits, media: 0, mediaTypes: [] } },
    facts: { ...facts, limits: { ...facts.limits, maxImages: 0 } },
    fixture: {
      ...fixture,
      async start() {
        const network = await fixture.start();
        network.on('POST /media', { status: 422, body: { error: 'This network takes text only' } });
        return network;
      },
    },
  }));
const cases = [...registered, ...textOnly];

/** The contract of a network with a server of its own here. */
describe.each(cases)('$name', ({ adapter, fixture, facts }) => {
  let network: FakeNetwork;
  let providers: ReturnType<typeof localProviders>;
  let channel: PublishingChannel;
  let red: Media;
  const slow = (ms: number): SocialAdapter => ({ ...adapter, timeoutMs: ms });
  const connect = (tokens: Tokens | undefined = network.tokens, one = adapter) =>
    providers.connect(one, { values: network.values, account: network.account, tokens });
  /** Networks for pictures get one with every post. */
  const needed = () => (adapter.limits.needsMedia ? [red] : []);
  /** A picture where the network takes one; what holds for media is not asked of the others. */
  const taken = () => (adapter.limits.media > 0 ? [red] : []);
  const created = () => network.asked.filter((step) => step === fixture.creating).length;

  /** For what only some networks have; the others do not list the test at all. */
  const testIf = (condition: unknown) => (condition ? test : () => undefined);

  beforeAll(async () => {
    red = await picture('A red rectangle');
  });
  beforeEach(async () => {
    network = await fixture.start();
    providers = localProviders(network.servers ? { servers: network.servers } : {});
    channel = connect();
  });
  afterEach(async () => {
    const { faults } = network;
    await providers[Symbol.asyncDispose]();
    await network[Symbol.asyncDispose]();
    expect(faults).toEqual([]);
  });

  describe('declares', () => {
    test('its facts', () => {
      expect(adapter.title).toBe(facts.title);
      const fields = Object.entries(adapter.credentials).map(([name, { secret }]) => ({ name, secret }));
      expect(fields).toEqual(facts.credentialFields.map(({ name, secret }) => ({ name, secret })));
      expect(adapter.limits.text).toBeLessThanOrEqual(facts.limits.maxLength);
      if (facts.limits.maxImages !== null) expect(adapter.limits.media).toBe(facts.limits.maxImages);
      expect(adapter.limits.needsMedia ?? false).toBe(facts.limits.requiresMedia);
      expect(adapter.once).toBe(facts.idempotency);
      expect(adapter.login.kind).toBe(facts.oauth ? 'oauth2' : 'credentials');
      if (facts.oauth)
        expect(atHosts(adapter)).toMatchObject({
          authorize: facts.oauth.authorizeUrl,
          token: facts.oauth.tokenUrl,
          scopes: facts.oauth.scopes,
          pkce: facts.oauth.pkce,
        });
    });

    test('a field for every placeholder', () => {
      const { login } = adapter;
      const templates = [adapter.api, ...(login.kind === 'oauth2' ? [login.authorize, login.token] : [])].join(' ');
      const known = Object.keys({ ...adapter.hosts, ...adapter.credentials });
      for (const [, name] of templates.matchAll(PLACEHOLDER)) expect(known).toContain(name);
    });

    test('a catalog entry with every key and no secret value [PV6]', () => {
      const entry = catalogEntryOf(adapter, 'active');
      expect(Object.keys(entry).toSorted()).toEqual(
        [
          'authType',
          'capabilities',
          'credentialFields',
          'defaultDomain',
          'deprecatedAt',
          'description',
          'displayName',
          'domain',
          'featured',
          'featuredSortOrder',
          'mediaCategories',
          'providerId',
          'setupNotes',
          'status',
          'sunsetAt',
          'verified',
          'version',
          'website',
        ].toSorted(),
      );
      expect(entry.capabilities.operations).toContain('publish');
      expect(entry.verified).toBe(false);
      expect(() => JSON.stringify(entry)).not.toThrow();
    });

    test('settings that tolerate unknown keys', () => {
      expect(adapter.settings.safeParse({ __type: adapter.id, invented: 1, firstComment: 'hi' }).success).toBe(true);
    });

    test('the class of its look-ups', () => {
      expect(channel.find === undefined).toBe(adapter.once === 'at-most-once');
    });
  });

  describe('connects', () => {
    test('by its login, and reads the account', async () => {
      const values = providers.fields(adapter, network.values);
      let tokens: Tokens | undefined;
      if (adapter.login.kind === 'oauth2') {
        const app = (await providers.registerApp(adapter, values, REDIRECT))!;
        const { url, state, kept } = await providers.authorize(adapter, {
          app,
          values,
          redirectUri: REDIRECT,
          state: 'the-state',
        });
        expect(new URL(url).searchParams.get('state')).toBe('the-state');
        const code = await fixture.consent!(network, url);
        tokens = await providers.exchange(adapter, { app, values, redirectUri: REDIRECT, code, state, kept });
        const again = await failureOf(
          providers.exchange(adapter, { app, values, redirectUri: REDIRECT, code, state, kept }),
        );
        expect(again).toMatchObject({ failure: 'reauthorize' });
        for (const secret of [code, app.clientSecret]) expect(inspect(again, { depth: 9 })).not.toContain(secret);
      } else tokens = await providers.signIn(adapter, values);
      const profile = await connect(tokens).profile();
      expect(profile.id).toBe(network.account);
      expect(profile.name).not.toBe('');
    });

    testIf(fixture.wrongLogin)('never with a wrong login', async () => {
      const values = { ...network.values, ...fixture.wrongLogin };
      const error = await failureOf(
        providers
          .signIn(adapter, values)
          .then((tokens) => providers.connect(adapter, { values, account: '', tokens }).profile()),
      );
      expect(error).toMatchObject({ failure: 'reauthorize' });
      for (const word of Object.values(fixture.wrongLogin!)) expect(inspect(error, { depth: 9 })).not.toContain(word);
    });

    testIf(fixture.expire)('again after its token has expired, without a second post', async () => {
      let renewed = 0;
      const renewing = providers.connect(adapter, {
        values: network.values,
        account: network.account,
        tokens: network.tokens,
        renew: async () => {
          renewed += 1;
          return (await providers.refresh(adapter, { values: network.values, tokens: network.tokens! }))!;
        },
      });
      fixture.expire!(network);
      await renewing.publish(postOf('After the night', needed()), {}, handleOf());
      expect(renewed).toBe(1);
      expect(network.posts).toHaveLength(1);
    });
  });

  describe('publishes', () => {
    test('text with a link, a mention, a tag and, where supported, a picture with alt text', async () => {
      const text = 'Grüße 👋 to @bob.test: see https://rookery.example/a?b=1&c=2, about #Vögel & more';
      const post = postOf(text, taken());
      const published = await channel.publish(post, {}, handleOf());
      expect(network.posts).toEqual([{ id: published.id, text, alts: taken().map(({ alt }) => alt) }]);
      expect(URL.canParse(published.url)).toBe(true);
    });

    test('a thread, each item as a reply to the one before', async () => {
      const thread: Published[] = [];
      for (const text of ['One', 'Two', 'Three'])
        thread.push(await channel.publish(postOf(text, needed()), {}, handleOf(undefined, [...thread])));
      expect(network.posts.map(({ text, replyTo }) => [text, replyTo])).toEqual([
        ['One', undefined],
        ['Two', thread[0]!.id],
        ['Three', thread[1]!.id],
      ]);
    });

    testIf(adapter.capabilities.includes('remove'))('and removes it, also twice', async () => {
      const published = await channel.publish(postOf('Gone soon', needed()), {}, handleOf());
      await channel.remove!(published);
      await channel.remove!(published);
    });
  });

  describe('after a failure', () => {
    test('maps each documented error', async () => {
      for (const { name, step, behaviour, failure, retryAfterMs } of fixture.errors) {
        await using again = await fixture.start();
        await using here = localProviders(again.servers ? { servers: again.servers } : {});
        again.on(step ?? fixture.creating, behaviour);
        const error = await failureOf(
          here
            .connect(adapter, { values: again.values, account: again.account, tokens: again.tokens })
            .publish(postOf('Refused', taken()), {}, handleOf()),
        );
        expect({ name, failure: error.failure }).toEqual({ name, failure });
        // as instants they are nearer by now
        if (retryAfterMs !== undefined) expect(Math.abs(error.retryAfterMs! - retryAfterMs)).toBeLessThan(300_000);
      }
    });

    test.each(['hang-up', 'silence', 'garbage'] as const)(
      'answers lost for a creating request that ends in %s, and does not repeat it',
      async (behaviour) => {
        network.on(fixture.creating, behaviour);
        // Only where nothing ends the call but its time: what comes before the creating request must be done in that
        // time, too.
        const one =
          behaviour === 'silence' || (behaviour === 'garbage' && fixture.safe === undefined) ? slow(1_000) : adapter;
        const error = await failureOf(connect(undefined, one).publish(postOf('Lost', needed()), {}, handleOf()));
        expect(error).toMatchObject({ failure: 'lost' });
        expect(created()).toBe(1);
      },
    );

    testIf(adapter.once !== 'at-most-once')('finds the post whose answer was lost, and no other', async () => {
      const since = new Date();
      const post = postOf('Did it arrive? Yes & no <3', taken());
      const handle = handleOf();
      network.on(fixture.creating, 'accept-then-hang-up', 1);
      expect(await failureOf(channel.publish(post, {}, handle))).toMatchObject({ failure: 'lost' });
      expect(network.posts).toHaveLength(1);
      expect(await lookUp(channel, post, { since, saved: handle.kept.at(-1) })).toEqual([network.posts[0]!.id]);
      expect(await lookUp(channel, postOf('Another text', taken()), { since })).toEqual([]);
      if (adapter.once === 'read-back')
        expect(await lookUp(channel, post, { since: new Date(since.getTime() + 60_000) })).toEqual([]);
    });

    describe.each(['cut', 'hang-up', 'accept-then-hang-up'] as const)('a request that ends in %s', (behaviour) => {
      const arrived = behaviour === 'accept-then-hang-up';

      testIf(adapter.once !== 'at-most-once')(
        'is not confused with an earlier post of the same text and media',
        async () => {
          const since = new Date(Date.now() - 1_000);
          const twin = await channel.publish(postOf('Twice', needed()), {}, handleOf());
          const post = postOf('Twice', needed());
          const handle = handleOf();
          network.on(fixture.creating, behaviour, 1);
          expect(await failureOf(channel.publish(post, {}, handle))).toMatchObject({ failure: 'lost' });
          const found = await lookUp(channel, post, { since, saved: handle.kept.at(-1) });
          expect(found.filter((id) => id !== twin.id)).toEqual(arrived ? [network.posts.at(-1)!.id] : []);
        },
      );

      testIf(adapter.once !== 'at-most-once')(
        'is not confused with other items of its thread with the same text',
        async () => {
          const since = new Date(Date.now() - 1_000);
          const same = () => (adapter.limits.media > 0 ? postOf('', [red]) : postOf('The same'));
          const root = await channel.publish(same(), {}, handleOf());
          const second = await channel.publish(same(), {}, handleOf(undefined, [root]));
          const third = same();
          const handle = handleOf(undefined, [root, second]);
          network.on(fixture.creating, behaviour, 1);
          expect(await failureOf(channel.publish(third, {}, handle))).toMatchObject({ failure: 'lost' });
          const found = await lookUp(channel, third, { since, saved: handle.kept.at(-1), thread: [root, second] });
          expect(found).toEqual(arrived ? [network.posts.at(-1)!.id] : []);
        },
      );
    });

    testIf(adapter.once !== 'at-most-once')('finds nothing for a post that never arrived', async () => {
      const post = postOf('Never arrived', needed());
      const handle = handleOf();
      network.on(fixture.creating, 'hang-up', 1);
      await failureOf(channel.publish(post, {}, handle));
      expect(await lookUp(channel, post, { since: new Date(), saved: handle.kept.at(-1) })).toEqual([]);
    });

    testIf(adapter.once === 'key' || adapter.once === 'own-id')(
      'sends again under the same key or id without a second post',
      async () => {
        const post = postOf('Only once', needed());
        const handle = handleOf();
        network.on(fixture.creating, 'accept-then-hang-up', 1);
        await failureOf(channel.publish(post, {}, handle));
        if (adapter.once === 'own-id') expect(handle.kept).toHaveLength(1);
        const published = await channel.publish(post, {}, handleOf(handle.kept.at(-1)));
        expect(network.posts.map(({ id }) => id)).toEqual([published.id]);
      },
    );

    testIf(fixture.safe)('repeats a safe call after a network error', async () => {
      network.on(fixture.safe!, 'hang-up', 2);
      await expect(channel.profile()).resolves.toMatchObject({ id: network.account });
      expect(network.asked.filter((step) => step === fixture.safe)).toHaveLength(3);
    });

    testIf(fixture.safe)('answers unavailable for a garbled answer to a safe call', async () => {
      network.on(fixture.safe!, 'garbage');
      expect(await failureOf(channel.profile())).toMatchObject({ failure: 'unavailable' });
    });

    testIf(fixture.safe)('follows no redirect to another host', async () => {
      network.on(fixture.creating, 'redirect');
      expect(await failureOf(channel.publish(postOf('Elsewhere', needed()), {}, handleOf()))).toMatchObject({
        failure: 'rejected',
      });
      network.on(fixture.safe!, 'redirect');
      expect(await failureOf(channel.profile())).toMatchObject({ failure: 'rejected' });
      expect(network.elsewhere).toEqual([]);
    });

    testIf(fixture.safe)('reads Retry-After in seconds and as a date', async () => {
      const wait = async (value: string) => {
        network.on(fixture.creating, { status: 429, headers: { 'retry-after': value } });
        return (await failureOf(channel.publish(postOf('Later', needed()), {}, handleOf()))).retryAfterMs;
      };
      expect(await wait('120')).toBe(120_000);
      expect(
        Math.abs((await wait(new Date(new Date().getTime() + 3_600_000).toUTCString()))! - 3_600_000),
      ).toBeLessThan(300_000);
      expect(await wait('soon')).toBeUndefined();
    });

    test('never shows a secret in an error', async () => {
      const echo = network.secrets
        .flatMap((secret) => [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')])
        .join(' ');
      network.on(
        fixture.creating,
        fixture.safe === undefined
          ? { reason: `invalid: ${echo}` }
          : { status: 422, body: { error: 'Refused', message: echo } },
      );
      const error = await failureOf(channel.publish(postOf('Refused', needed()), {}, handleOf()));
      const shown = `${inspect(error, { depth: 9 })} ${JSON.stringify(error)} ${error.message} ${String(error.cause)}`;
      for (const secret of network.secrets) expect(shown).not.toContain(secret);
    });

    testIf('instance' in adapter.credentials || 'service' in adapter.credentials)(
      'cannot be sent to an address that is not public',
      async () => {
        const name = 'instance' in network.values ? 'instance' : 'service';
        const values = { ...network.values, [name]: 'http://10.0.0.1' };
        const inside = providers.connect(adapter, { values, account: network.account, tokens: network.tokens });
        expect(await failureOf(inside.profile())).toMatchObject({ failure: 'rejected' });
      },
    );
  });
});

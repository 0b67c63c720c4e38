import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { SignJWT, UnsecuredJWT, generateKeyPair } from 'jose';
import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { AuthAdapter } from '../../../src/providers/registry/index.ts';
import { adapters } from '../../../src/providers/registry/registry.gen.ts';
import type { AuthFixture, Claims, FakeProvider } from '../../fixtures/providers/auth/_fixture.ts';
import { failureOf } from '../../support/peers/fake-network.ts';
import { localProviders } from '../../support/worlds/providers.ts';

interface Facts {
  credentialFields: { name: string; secret: boolean }[];
  oauth: { authorizeUrl: string; tokenUrl: string; scopes: string[] } | null;
}

const FOLDER = new URL('../../fixtures/providers/auth/', import.meta.url);
const logins = adapters.filter((adapter) => adapter.domain === 'auth');
const factsOf = async (id: string) => JSON.parse(await readFile(new URL(`${id}.facts.json`, FOLDER), 'utf8')) as Facts;
const ways = (
  await Promise.all(
    logins.map(async (adapter) => {
      const { default: fixtures } = (await import(new URL(`${adapter.id}.ts`, FOLDER).pathname)) as {
        default: AuthFixture[];
      };
      return fixtures.map((fixture) => ({
        name: `auth/${adapter.id}@${adapter.version} ${fixture.name}`,
        adapter,
        fixture,
      }));
    }),
  )
).flat();

test('every adapter file is registered, and every registered adapter but the password has its fixtures', async () => {
  const files = (await readdir(new URL('../../../src/providers/auth/', import.meta.url))).filter((file) =>
    /^[^_].*\.v\d+\.ts$/.test(file),
  );
  expect(logins.map(({ id, version }) => `${id}.${version}.ts`).toSorted()).toEqual(files.toSorted());
  const ids = (optional: boolean) =>
    logins.filter((adapter) => (adapter.optional !== undefined) === optional).map(({ id }) => id);
  expect(ids(false)).toEqual(['farcaster', 'generic', 'github', 'google', 'local', 'wallet']);
  expect(ids(true)).toEqual(['facebook', 'linkedin', 'x']); // where the operator switches them on
  for (const { id, by } of logins)
    expect([id, ways.some(({ adapter }) => adapter.id === id)]).toEqual([id, by !== 'password']);
});

test.each(logins.map((adapter) => ({ id: adapter.id, adapter })))(
  '$id declares the fields of its facts, and the same secrets',
  async ({ adapter }) => {
    const { credentialFields } = await factsOf(adapter.id);
    for (const { name, secret } of credentialFields)
      expect([name, adapter.credentials[name]?.secret]).toEqual([name, secret]);
    const secrets = Object.entries(adapter.credentials).filter(([, { secret }]) => secret);
    expect(secrets.map(([name]) => name)).toEqual(
      credentialFields.filter(({ secret }) => secret).map(({ name }) => name),
    );
    expect([adapter.domain, adapter.setup !== undefined]).toEqual(['auth', adapter.by !== 'password']);
  },
);

/** The contract of every login provider. A new adapter gets this suite, and fails it without its fixtures. */
describe.each(ways)('$name', ({ adapter, fixture }) => {
  let provider: FakeProvider;
  let providers: ReturnType<typeof localProviders>;
  const open = (more: Partial<AuthAdapter> = {}, values: Record<string, string> = provider.values) =>
    providers.login({ ...adapter, ...more }, values);
  const logIn = (more: Partial<AuthAdapter> = {}) => provider.logIn(open(more));
  const testIf = (condition: unknown) => (condition ? test : () => undefined);
  /** Answers the failure, and checks that its message shows no secret in any form. */
  const fails = async (call: Promise<unknown>) => {
    const error = await failureOf(call);
    const said = `${error.message} ${JSON.stringify(error)} ${error.cause instanceof Error ? error.cause.message : ''}`;
    for (const secret of provider.secrets)
      for (const form of [secret, encodeURIComponent(secret), btoa(secret)]) expect(said).not.toContain(form);
    return error;
  };

  beforeEach(async () => {
    provider = await fixture.start();
    providers = localProviders(provider.servers ? { servers: provider.servers } : {});
  });
  afterEach(async () => {
    const { faults, elsewhere } = provider;
    await providers[Symbol.asyncDispose]();
    await provider[Symbol.asyncDispose]();
    expect([faults, elsewhere]).toEqual([[], []]);
  });

  test('answers the account', async () => {
    expect(await logIn()).toEqual(fixture.account);
    expect(await logIn()).toEqual(fixture.account); // once more, with what was learned
  });

  testIf(fixture.consent)(
    'asks for consent with state, PKCE where supported, and the scopes of the facts',
    async () => {
      const login = open();
      if (login.by !== 'consent') throw new Error('Logs in otherwise');
      const url = new URL(
        await login.authorize({
          state: 's1',
          nonce: 'n1',
          verifier: 'v'.repeat(43),
          redirectUri: 'https://app.example.test/back',
        }),
      );
      const { path, scope, nonce, pkce = true } = fixture.consent!;
      expect(url.pathname).toBe(path);
      expect(Object.fromEntries(url.searchParams)).toEqual({
        response_type: 'code',
        client_id: provider.values['clientId'],
        redirect_uri: 'https://app.example.test/back',
        scope,
        state: 's1',
        ...(pkce && { code_challenge: expect.stringMatching(/^[\w-]{43}$/), code_challenge_method: 'S256' }),
        ...(nonce && { nonce: 'n1' }),
        ...(adapter.id === 'google' && { prompt: 'select_account' }),
      });
      const facts = await factsOf(adapter.id);
      expect(scope.split(' ').toSorted()).toEqual(facts.oauth!.scopes.toSorted());
    },
  );

  testIf(fixture.errors.length > 0)('maps each documented refusal, and shows no secret', async () => {
    for (const { name, step = fixture.step!, behaviour, failure } of fixture.errors) {
      provider.on(step, behaviour);
      expect([name, (await fails(logIn())).failure]).toEqual([name, failure]);
      provider.on(step, behaviour, 0);
    }
    expect(await logIn()).toEqual(fixture.account);
  });

  testIf(fixture.step)('answers unavailable for a broken connection, a cut answer and no answer', async () => {
    for (const behaviour of ['hang-up', 'garbage', 'silence'] as const) {
      provider.on(fixture.step!, behaviour);
      // Only silence has little time, in a version of its own that keeps it: a slow answer must not stand for a broken
      // one.
      const patience: Partial<AuthAdapter> = behaviour === 'silence' ? { timeoutMs: 200, version: 'v99' } : {};
      expect([behaviour, (await fails(logIn(patience))).failure]).toEqual([behaviour, 'unavailable']);
    }
  });

  testIf(fixture.step)('follows no redirect', async () => {
    provider.on(fixture.step!, 'redirect');
    expect((await fails(logIn())).failure).toBe('rejected');
    expect(provider.elsewhere).toEqual([]);
  });

  testIf(fixture.wrong)('checks its settings at the provider', async () => {
    await expect(providers.check(adapter, provider.values)).resolves.toBeUndefined();
    expect((await fails(providers.check(adapter, { ...provider.values, ...fixture.wrong })!)).failure).toBe('rejected');
  });

  const DISCOVERY = 'GET /.well-known/openid-configuration';
  testIf(fixture.idToken === 'verified')(
    'believes no discovery document that names another issuer, and goes to no address that it may not',
    async () => {
      const honest = (await (await fetch(`${provider.url}/.well-known/openid-configuration`)).json()) as object;
      for (const change of [
        { issuer: 'https://evil.example' },
        { jwks_uri: undefined },
        { token_endpoint: 'http://169.254.169.254/token' },
        { token_endpoint: 'https://[::1]/token' },
        { jwks_uri: 'https://10.0.0.1/keys' },
        { userinfo_endpoint: 'https://localhost.localdomain@127.0.0.2/me' },
      ]) {
        provider.on(DISCOVERY, { status: 200, body: { ...honest, ...change } });
        const fresh = open({ version: `v${JSON.stringify(change).length + 100}` }); // nothing of it was learned before
        expect([change, (await fails(provider.logIn(fresh))).failure]).toEqual([change, 'rejected']);
      }
    },
  );

  testIf(fixture.consent)('refuses a code that was never issued', async () => {
    const login = open();
    if (login.by !== 'consent') throw new Error('Logs in otherwise');
    const begun = { state: 's1', nonce: 'n1', verifier: 'v'.repeat(43), redirectUri: 'https://app.example.test/back' };
    expect((await fails(login.identify({ ...begun, code: 'code-of-nobody' }))).failure).toBe('reauthorize');
  });

  const seconds = () => Math.floor(new Date().getTime() / 1000);
  const unsigned = (claims: Claims) => new UnsecuredJWT(claims).encode();
  const compared: [string, (claims: Claims) => Claims][] = [
    ['of another subject', (claims) => ({ ...claims, sub: 'subject-2' })],
    ['for another client', (claims) => ({ ...claims, aud: 'another-client' })],
    ['of another login', (claims) => ({ ...claims, nonce: 'another-nonce' })],
    ['that is over', (claims) => ({ ...claims, exp: seconds() - 600 })],
  ];
  testIf(fixture.idToken === 'compared')('refuses an id_token that contradicts userinfo or the login', async () => {
    for (const [name, change] of compared) {
      provider.forge = (claims) => unsigned(change(claims));
      expect([name, (await fails(logIn())).failure]).toEqual([name, 'rejected']);
    }
    provider.forge = () => 'no token at all';
    expect((await fails(logIn())).failure).toBe('rejected');
  });

  testIf(fixture.idToken === 'verified')('refuses an id_token that is forged in any part', async () => {
    const stranger = await generateKeyPair('RS256');
    const sign = (claims: Claims, header: object = {}) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'key-1', ...header }).sign(stranger.privateKey);
    const { jwks_uri: keys } = (await (await fetch(`${provider.url}/.well-known/openid-configuration`)).json()) as {
      jwks_uri: string;
    };
    const { keys: published } = (await (await fetch(new URL(new URL(keys).pathname, provider.url))).json()) as {
      keys: JsonWebKey[];
    };
    const pem = createPublicKey({ key: published[0]!, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
    const forgeries: [string, NonNullable<FakeProvider['forge']>][] = [
      ['by another key', (claims) => sign(claims)],
      ['by a key that nobody names', (claims) => sign(claims, { kid: 'key-2' })],
      ['by nobody', unsigned],
      [
        'by our own secret',
        (claims) =>
          new SignJWT(claims)
            .setProtectedHeader({ alg: 'HS256' })
            .sign(new TextEncoder().encode(provider.values['clientSecret'])),
      ],
      [
        'by the public key, taken for a secret',
        (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'key-1' }).sign(Buffer.from(pem)),
      ],
      ['as no token at all', () => 'token'],
      ['of another issuer', (claims, honest) => honest({ ...claims, iss: 'https://evil.example' })],
      ['without an issuer', (claims, honest) => honest({ ...claims, iss: undefined })],
      ['without a nonce', (claims, honest) => honest({ ...claims, nonce: undefined })],
      ['without an end', (claims, honest) => honest({ ...claims, exp: undefined })],
      ['without a subject', (claims, honest) => honest({ ...claims, sub: undefined })],
      [
        'for several clients, without saying which',
        (claims, honest) => honest({ ...claims, aud: [claims['aud'], 'another-client'] }),
      ],
      [
        'for several clients, given to another of them',
        (claims, honest) => honest({ ...claims, aud: [claims['aud'], 'another-client'], azp: 'another-client' }),
      ],
      ...compared.map(([name, change]): [string, NonNullable<FakeProvider['forge']>] => [
        name,
        (claims, honest) => honest(change(claims)),
      ]),
    ];
    for (const [name, forge] of forgeries) {
      provider.forge = forge;
      expect([name, (await fails(logIn())).failure]).toEqual([name, 'rejected']);
    }
    provider.forge = (claims, honest) => honest(claims);
    expect(await logIn()).toEqual(fixture.account); // it was not refused for anything else
  });
});

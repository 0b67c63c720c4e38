import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { testDatabase } from '../../support/wire/database.ts';
import { type LoginApp, loginApp, LoginPeer, FRONTEND, MAIN } from '../../support/worlds/login-world.ts';
import { describePeer, npmPeer, type Peer } from '../../support/peers/peers.ts';
import type { Client } from '../../support/worlds/app.ts';

// The wallet signs with ethers, writes its messages with siwe, and asks a chain that is played by ethers; the product
// uses neither.

await describePeer(
  'login',
  () => npmPeer('login'),
  ({ start }) => {
    let peer: Peer;
    let told: LoginPeer;
    let db: Awaited<ReturnType<typeof testDatabase>>;
    let app: LoginApp;
    let admin: Client;
    let now: Date; // of the test: a message is good for minutes only

    const ask = async (path: string, body: object) => {
      const response = await fetch(told.web3 + path, { method: 'POST', body: JSON.stringify(body) });
      const answer = (await response.json()) as { message: string; signature: string; error?: string };
      if (answer.error !== undefined) throw new Error(`The wallet refused: ${answer.error}`);
      return answer;
    };
    const sign = async (message: string, by?: 'other') => (await ask('/sign', { message, by })).signature;
    /** A message of another library, with what it usually holds. */
    const write = async (nonce: string, fields: object = {}) =>
      (
        await ask('/message', {
          domain: 'app.example.test',
          address: told.address,
          uri: `${FRONTEND}/login`,
          version: '1',
          chainId: 1,
          nonce,
          issuedAt: now.toISOString(),
          ...fields,
        })
      ).message;
    const nonceOf = async (client: Client, provider = 'wallet') =>
      (await client.get(`/auth/nonce/${provider}`)).body.nonce as string;
    const exists = (client: Client, message: string, signature: string, state: string, provider = 'wallet') =>
      client.post(`/auth/oauth/${provider}/exists`, { code: JSON.stringify({ message, signature }), state });

    beforeAll(async () => {
      peer = await start();
      told = LoginPeer.parse(peer.env);
      db = await testDatabase();
      app = await loginApp({ sql: db.sql });
      admin = (await app.signUp()).client;
      for (const [providerId, chain] of [
        ['wallet', 1],
        ['farcaster', 10],
      ] as const) {
        const { status } = await admin.post('/admin/providers/settings', {
          domain: 'auth',
          providerId,
          credentials: { rpcUrl: `${told.web3}/rpc/${chain}` },
        });
        expect(status).toBe(201);
      }
    }, 120_000);
    beforeEach(() => {
      now = new Date();
    });
    afterAll(async () => {
      await app[Symbol.asyncDispose]();
      await db[Symbol.asyncDispose]();
      await peer[Symbol.asyncDispose]();
    });

    describe('wallet', () => {
      test('signs the server message, registers and logs in, without an address for mail [S36, S30]', async () => {
        const client = app.client();
        const { nonce, message } = (await client.get(`/auth/nonce/wallet?address=${told.address.toLowerCase()}`)).body;
        expect(message).toContain(
          `app.example.test wants you to sign in with your Ethereum account:\n${told.address}\n`,
        );
        const known = await exists(client, message, await sign(message), nonce);
        expect(known.body).toEqual({ token: expect.any(String) });
        expect(
          (
            await client.post('/auth/register', {
              provider: 'wallet',
              providerToken: known.body.token,
              company: 'Acme Ltd',
            })
          ).body,
        ).toEqual({
          register: true,
        });
        const { body: self } = await client.get('/user/self');
        const address = told.address.toLowerCase();
        expect(self).toMatchObject({ providerName: 'wallet', email: `wallet_eip155-1-${address}@no-address.invalid` });

        const again = app.client();
        const state = await nonceOf(again);
        const text = await write(state);
        expect((await exists(again, text, await sign(text), state)).body).toEqual({ login: true });
        expect((await again.get('/user/self')).body.id).toBe(self.id);
      });

      test('sends the proof in place of a token, as JSON or in base64 [S36]', async () => {
        for (const form of ['utf8', 'base64', 'base64url'] as const) {
          const client = app.client();
          const message = await write(await nonceOf(client), {
            uri: MAIN,
            domain: 'main.example.test',
            statement: 'Log in to Acme.',
          });
          const providerToken = Buffer.from(JSON.stringify({ message, signature: await sign(message) })).toString(form);
          const { status, body } = await client.post('/auth/login', { provider: 'wallet', providerToken });
          expect([form, status, body]).toEqual([form, 200, { login: true }]);
        }
      });

      test('logs in once with a hundred concurrent uses of one proof', async () => {
        const client = app.client();
        const message = await write(await nonceOf(client));
        const body = { provider: 'wallet', providerToken: JSON.stringify({ message, signature: await sign(message) }) };
        const cookie = `login=${client.cookies.get('login')}`;
        const answers = await Promise.all(
          Array.from({ length: 100 }, () => app.client().post('/auth/login', body, { cookie })),
        );
        expect([
          answers.filter(({ status }) => status === 200).length,
          answers.filter(({ status }) => status === 400).length,
        ]).toEqual([1, 99]);
      });

      const refusals: [string, (nonce: string) => Promise<{ message: string; signature?: string }>][] = [
        ['for another site', async (nonce) => ({ message: await write(nonce, { domain: 'evil.example' }) })],
        [
          'for a site whose name ends like ours',
          async (nonce) => ({ message: await write(nonce, { domain: 'evil-app.example.test' }) }),
        ],
        [
          'for our site at another port',
          async (nonce) => ({ message: await write(nonce, { domain: 'app.example.test:8443' }) }),
        ],
        [
          'whose address is of another site',
          async (nonce) => ({ message: await write(nonce, { uri: 'https://evil.example/login' }) }),
        ],
        [
          'whose address is ours, but not encrypted',
          async (nonce) => ({ message: await write(nonce, { uri: 'http://app.example.test/' }) }),
        ],
        [
          'whose parts name two of our sites',
          async (nonce) => ({ message: await write(nonce, { domain: 'main.example.test' }) }),
        ],
        ['for another chain', async (nonce) => ({ message: await write(nonce, { chainId: 137 }) })],
        ['with a nonce of its own', async () => ({ message: await write('aNonceOfItsOwn12345') })],
        [
          'from an hour ago',
          async (nonce) => ({
            message: await write(nonce, { issuedAt: new Date(now.getTime() - 3_600_000).toISOString() }),
          }),
        ],
        [
          'from tomorrow',
          async (nonce) => ({
            message: await write(nonce, { issuedAt: new Date(now.getTime() + 86_400_000).toISOString() }),
          }),
        ],
        [
          'that has expired',
          async (nonce) => ({
            message: await write(nonce, { expirationTime: new Date(now.getTime() - 1_000).toISOString() }),
          }),
        ],
        [
          'that is not yet valid',
          async (nonce) => ({
            message: await write(nonce, { notBefore: new Date(now.getTime() + 3_600_000).toISOString() }),
          }),
        ],
        ['of version 2', async (nonce) => ({ message: (await write(nonce)).replace('Version: 1', 'Version: 2') })],
        [
          'with a second nonce in a statement',
          async (nonce) => ({
            message: (await write('aNonceOfItsOwn12345')).replace('\n\nURI', `\nNonce: ${nonce}\n\nURI`),
          }),
        ],
        ['with lines behind its end', async (nonce) => ({ message: `${await write(nonce)}\nAnd another thing` })],
        ['with a scheme in front', async (nonce) => ({ message: `https://${await write(nonce)}` })],
        [
          'in lower case of the address',
          async (nonce) => ({ message: (await write(nonce)).replace(told.address, told.address.toLowerCase()) }),
        ],
        [
          'that another wallet signed',
          async (nonce) => ({ message: await write(nonce), signature: await sign(await write(nonce), 'other') }),
        ],
        [
          'whose signature is of another message',
          async (nonce) => ({ message: await write(nonce), signature: await sign('Log in') }),
        ],
        [
          'whose signature is cut',
          async (nonce) => ({ message: await write(nonce), signature: (await sign(await write(nonce))).slice(0, -2) }),
        ],
        ['whose signature is no hexadecimal', async (nonce) => ({ message: await write(nonce), signature: 'signed' })],
        [
          'of a contract that says no',
          async (nonce) => ({
            message: await write(nonce, { address: told.contract }),
            signature: await sign('Log in'),
          }),
        ],
      ];
      test.each(refusals)('is refused with a message %s', async (_, of) => {
        const client = app.client();
        const nonce = await nonceOf(client);
        const { message, signature } = await of(nonce);
        const refused = await exists(client, message, signature ?? (await sign(message)), nonce);
        expect([refused.status, refused.body.code, client.cookies.has('auth')]).toEqual([
          400,
          'invalid_request',
          false,
        ]);
        expect(await db.sql`select 1 from users where provider_name = 'wallet'`).toHaveLength(1);
      });

      test('uses a nonce once and in its own browser', async () => {
        const [ann, eve] = [app.client(), app.client()];
        const nonce = await nonceOf(ann);
        const message = await write(nonce);
        const signature = await sign(message);
        await nonceOf(eve);
        expect((await exists(eve, message, signature, nonce)).status).toBe(400);
        expect((await exists(app.client(), message, signature, nonce)).status).toBe(400);
        expect((await exists(ann, message, signature, nonce)).body).toEqual({ login: true });
        ann.cookies.set('login', 'x'.repeat(43));
        expect((await exists(ann, message, signature, nonce)).status).toBe(400);
      });

      test('uses a nonce for ten minutes and for one provider', async () => {
        const client = app.client();
        const nonce = await nonceOf(client);
        const message = await write(nonce);
        const signature = await sign(message);
        expect((await exists(client, message, signature, nonce, 'farcaster')).status).toBe(400);
        const [left] = await db.sql`
            select extract(epoch from expires_at - now())::float8 as seconds
            from login_states
            order by expires_at desc limit 1`;
        expect(Math.abs(left!['seconds'] - 600)).toBeLessThan(60);
        await db.sql`update login_states set expires_at = now() - interval '1 second'`;
        expect((await exists(client, message, signature, nonce)).status).toBe(400);
      });

      test('logs in as a contract by the answer of the contract on its chain', async () => {
        const client = app.client();
        const nonce = await nonceOf(client);
        const message = await write(nonce, { address: told.contract });
        const known = await exists(client, message, `${await sign(message)}01`, nonce);
        expect(known.body).toEqual({ token: expect.any(String) });
      });

      test('gets no message for an invalid address', async () => {
        const { status, body } = await app.client().get('/auth/nonce/wallet?address=0x12');
        expect([status, body.errors[0].field]).toEqual([400, 'address']);
      });
    });

    describe('farcaster', () => {
      const cast = (nonce: string, fields: object = {}) =>
        write(nonce, { chainId: 10, statement: 'Farcaster Auth', resources: ['farcaster://fid/4242'], ...fields });

      test('registers the custody address of an account and logs it in [S36, S30]', async () => {
        const client = app.client();
        const nonce = await nonceOf(client, 'farcaster');
        const message = await cast(nonce);
        const { body } = await exists(client, message, await sign(message), nonce, 'farcaster');
        await client.post('/auth/register', { provider: 'farcaster', providerToken: body.token, company: 'Acme Ltd' });
        expect((await client.get('/user/self')).body).toMatchObject({
          providerName: 'farcaster',
          email: 'farcaster_4242@no-address.invalid',
        });
        expect((await db.sql`select provider_id from users where provider_name = 'farcaster'`)[0]!['provider_id']).toBe(
          '4242',
        );

        const again = app.client();
        const state = await nonceOf(again, 'farcaster');
        const older = await cast(state, { statement: 'Farcaster Connect' });
        expect((await exists(again, older, await sign(older), state, 'farcaster')).body).toEqual({ login: true });
      });

      const refusals: [string, object, ('other' | undefined)?][] = [
        ["another's account", { resources: ['farcaster://fid/1'] }],
        ['two accounts', { resources: ['farcaster://fid/4242', 'farcaster://fid/1'] }],
        ['no account', { resources: [] }],
        ['something that is no account', { resources: ['farcaster://fid/4242/x'] }],
        ['account zero', { resources: ['farcaster://fid/0'] }],
        ['another statement', { statement: 'Log in' }],
        ['another chain', { chainId: 1 }],
        ['another site', { domain: 'evil.example' }],
      ];
      test.each(refusals)('refuses a message with %s', async (_, fields) => {
        const client = app.client();
        const nonce = await nonceOf(client, 'farcaster');
        const message = await cast(nonce, fields);
        expect((await exists(client, message, await sign(message), nonce, 'farcaster')).status).toBe(400);
      });

      test('refuses an address with custody of no account', async () => {
        const client = app.client();
        const nonce = await nonceOf(client, 'farcaster');
        const message = await cast(nonce, { address: told.otherAddress });
        expect((await exists(client, message, await sign(message, 'other'), nonce, 'farcaster')).status).toBe(400);
      });
    });
  },
);

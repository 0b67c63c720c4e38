import { describe, expect } from '@jest/globals';
import { createPublicKey, createVerify, generateKeyPairSync } from 'node:crypto';
import { newId } from '../../../src/platform/kernel/index.ts';
import { makeCertificate } from '../../support/wire/certificate.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { type Visit } from '../../support/wire/outside.ts';
import { subscribedBrowser, vapidSettings } from '../../support/wire/push-service.ts';
import { effectsOf } from '../../support/worlds/settings/settings-table.ts';
import { type Env, newcomer, settingsWorld } from '../../support/worlds/settings/settings-world.ts';
import { startSmtp } from '../../support/peers/smtp.ts';

// Settings given to the product as a user runs it, and seen from outside: mail.

const world = settingsWorld([
  'api.resend.com',
  'api.eu.sendgrid.com',
  'api.eu.mailgun.net',
  'api.postmarkapp.com',
  'email.eu-west-1.amazonaws.com',
  'oauth2.googleapis.com',
  'fcm.googleapis.com',
  'push.example.com',
]);
const { open } = world;
const effect = effectsOf('mail');

describe('mail', () => {
  const FROM = { EMAIL_FROM_ADDRESS: 'from@example.com', EMAIL_FROM_NAME: 'The Sender' };
  /** Registers somebody and lets the mail be sent. */
  async function send(env: Env, arrived: () => boolean, more: Parameters<typeof open>[1] = {}): Promise<void> {
    await world.db.sql`delete from emails`; // a mail that another server did not take would come again, by this one
    await using app = await open({ ...FROM, ...env }, more);
    await using _sender = app.context.email.startSender({ restMs: 20 })!;
    expect((await app.client().post('/auth/register', newcomer())).body).toEqual({ activate: true });
    await eventually('the mail leaves', arrived);
  }
  const PROVIDERS: readonly [Env, string, RegExp][] = [
    [
      { EMAIL_PROVIDER: 'resend', EMAIL_API_KEY: 're_key' },
      'api.resend.com',
      /re_key[^]*The Sender[^]*from@example\.com/,
    ],
    [{ EMAIL_PROVIDER: 'sendgrid', EMAIL_API_KEY: 'SG.key', EMAIL_REGION: 'eu' }, 'api.eu.sendgrid.com', /SG\.key/],
    [
      { EMAIL_PROVIDER: 'mailgun', EMAIL_API_KEY: 'key-m', EMAIL_DOMAIN: 'mg.example.com', EMAIL_REGION: 'eu' },
      'api.eu.mailgun.net',
      /\/v3\/mg\.example\.com\/messages/,
    ],
    [
      { EMAIL_PROVIDER: 'postmark', EMAIL_API_KEY: 'pm-key', EMAIL_STREAM: 'the-stream' },
      'api.postmarkapp.com',
      /pm-key[^]*the-stream/,
    ],
    [
      {
        EMAIL_PROVIDER: 'ses',
        EMAIL_API_KEY: 'aws-secret',
        EMAIL_ACCESS_KEY_ID: 'AKIDEXAMPLE',
        EMAIL_REGION: 'eu-west-1',
        EMAIL_STREAM: 'the-set',
      },
      'email.eu-west-1.amazonaws.com',
      /AKIDEXAMPLE[^]*the-set/,
    ],
  ];
  effect(
    [
      'EMAIL_PROVIDER',
      'EMAIL_FROM_ADDRESS',
      'EMAIL_FROM_NAME',
      'EMAIL_API_KEY',
      'EMAIL_ACCESS_KEY_ID',
      'EMAIL_DOMAIN',
      'EMAIL_REGION',
      'EMAIL_STREAM',
    ],
    'mail leaves by that provider, with these',
    async () => {
      for (const [env, host, seen] of PROVIDERS) {
        world.outside.on(host, () => ({ status: 500 }));
        await send(env, () => world.outside.to(host).length > 0);
        const [{ headers, path, body }] = world.outside.to(host) as [Visit];
        expect(`${path} ${JSON.stringify(headers)} ${body}`).toMatch(seen);
      }
    },
  );
  effect(['EMAIL_WEBHOOK_SECRET'], 'proves delivery events', async () => {
    await using app = await open({
      ...FROM,
      EMAIL_PROVIDER: 'postmark',
      EMAIL_API_KEY: 'pm-key',
      EMAIL_WEBHOOK_SECRET: 'a long secret of postmark',
    });
    const tell = async (secret: string) =>
      (
        await app
          .client()
          .post('/webhooks/email', { RecordType: 'Delivery', MessageID: newId() }, { 'x-webhook-secret': secret })
      ).status;
    expect(await tell('a long secret of postmark')).toBe(200);
    expect(await tell('another')).toBeGreaterThanOrEqual(400);
  });
  effect(
    ['EMAIL_SMTP_HOST', 'EMAIL_SMTP_PORT', 'EMAIL_SMTP_SECURE', 'EMAIL_SMTP_USER', 'EMAIL_SMTP_PASSWORD'],
    'mail leaves by that server, with that login, encrypted unless told otherwise',
    async () => {
      await using server = await startSmtp();
      const env = {
        EMAIL_PROVIDER: 'smtp',
        EMAIL_SMTP_HOST: '127.0.0.1',
        EMAIL_SMTP_PORT: String(server.port),
        EMAIL_SMTP_USER: 'the-user',
        EMAIL_SMTP_PASSWORD: 'the-password',
      };
      await send({ ...env, EMAIL_SMTP_SECURE: 'none' }, () => server.mails.length > 0);
      expect(server.mails).toMatchObject([{ user: 'the-user', password: 'the-password', from: 'from@example.com' }]);
      // a connection that rests ends after 15 s
      await eventually('the app ends its connections with itself', () => server.open === 0, 10_000);
      const before = server.connections;
      // it offers no encryption, so nothing is said to it
      await send(env, () => server.connections > before && server.open === 0);
      expect(server.mails).toHaveLength(1);
      const tls = makeCertificate();
      await using encrypted = await startSmtp({ tls });
      const network = { ...world.outside.network, authorities: [tls.cert] };
      await send(
        { ...env, EMAIL_SMTP_PORT: String(encrypted.port), EMAIL_SMTP_SECURE: 'tls' },
        () => encrypted.mails.length > 0,
        { network },
      );
      expect(encrypted.mails).toMatchObject([{ user: 'the-user', password: 'the-password' }]);
    },
  );

  effect(['FCM_PROJECT_ID', 'FCM_CLIENT_EMAIL', 'FCM_PRIVATE_KEY'], 'pushes leave by that account [NO30]', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    const env = {
      FCM_PROJECT_ID: 'the-project',
      FCM_CLIENT_EMAIL: 'push@the-project.example',
      FCM_PRIVATE_KEY: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    };
    world.outside.on('oauth2.googleapis.com', () => ({ json: { access_token: 'the-token', expires_in: 3_600 } }));
    world.outside.on('fcm.googleapis.com', () => ({ json: {} }));
    await using app = await open(env);
    await using _sender = app.context.push.startSender({ restMs: 20 })!;
    const ann = await app.signUp();
    await ann.client.post('/notifications/push-tokens', { token: 'the-device', platform: 'ios' });
    const target = { type: 'users', userIds: [ann.userId] };
    const broadcast = { title: 'Hi', content: 'You', target, channels: ['push'] };
    expect((await ann.client.post('/notifications/broadcast', broadcast)).status).toBe(200);
    await eventually('the push leaves', () => world.outside.to('fcm.googleapis.com').length > 0);
    const [login] = world.outside.to('oauth2.googleapis.com') as [Visit];
    const [head, claims, signature] = new URLSearchParams(login.body).get('assertion')!.split('.') as string[];
    expect(Buffer.from(claims!, 'base64url').toString()).toContain(env.FCM_CLIENT_EMAIL);
    const verify = createVerify('RSA-SHA256').update(`${head}.${claims}`);
    expect(verify.verify(publicKey, signature!, 'base64url')).toBe(true);
    expect(world.outside.to('fcm.googleapis.com')[0]!.path).toBe('/v1/projects/the-project/messages:send');
  });

  effect(
    ['VAPID_PUBLIC_KEY', 'VAPID_PRIVATE_KEY', 'VAPID_SUBJECT'],
    'pushes leave for browsers, signed by that key and with that subject',
    async () => {
      const env = vapidSettings();
      world.outside.on('push.example.com', () => ({ status: 201 }));
      await using app = await open(env);
      await using _sender = app.context.push.startSender({ restMs: 20 })!;
      const ann = await app.signUp();
      expect((await ann.client.get('/notifications/push-key')).body).toEqual({ publicKey: env.VAPID_PUBLIC_KEY });
      const browser = subscribedBrowser('https://push.example.com/send/1');
      await ann.client.post('/notifications/push-tokens', { token: browser.token, platform: 'web' });
      const target = { type: 'users', userIds: [ann.userId] };
      const broadcast = { title: 'Hi', content: 'You', target, channels: ['push'] };
      expect((await ann.client.post('/notifications/broadcast', broadcast)).status).toBe(200);
      await eventually('the push leaves', () => world.outside.to('push.example.com').length > 0);
      const [visit] = world.outside.to('push.example.com') as [Visit];
      const [, token, key] = /^vapid t=([^,]+), k=(.+)$/.exec(String(visit.headers['authorization']))!;
      const [head, claims, signature] = token!.split('.') as string[];
      expect([key, JSON.parse(Buffer.from(claims!, 'base64url').toString()).sub]).toEqual([
        env.VAPID_PUBLIC_KEY,
        env.VAPID_SUBJECT,
      ]);
      const point = Buffer.from(env.VAPID_PUBLIC_KEY, 'base64url');
      const [x, y] = [point.toString('base64url', 1, 33), point.toString('base64url', 33)];
      const publicKey = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
      const verify = createVerify('SHA256').update(`${head}.${claims}`);
      expect(verify.verify({ key: publicKey, dsaEncoding: 'ieee-p1363' }, signature!, 'base64url')).toBe(true);
    },
  );
});

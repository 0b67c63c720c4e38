import { describe, expect } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { startProxy } from '../../support/wire/proxy-server.ts';
import { startReceiver } from '../../support/wire/receiver.ts';
import { formOf, picture } from '../../support/worlds/samples.ts';
import { effectsOf } from '../../support/worlds/settings/settings-table.ts';
import { type Env, settingsWorld } from '../../support/worlds/settings/settings-world.ts';

// Settings given to the product as a user runs it, and seen from outside: requests to others.

const world = settingsWorld(['echo.example']);
const { at, endsFirst, open } = world;
const effect = effectsOf('outbound');

describe('outbound requests', () => {
  effect(['WEBHOOK_TIMEOUT_MS'], 'one attempt takes no longer [WH34]', async () => {
    const answer = await endsFirst({ WEBHOOK_TIMEOUT_MS: '200' }, (client, url) =>
      client.post('/webhooks/send', { url }),
    );
    expect(answer).toMatchObject({ body: { success: false, status: 0, error: 'timeout' } });
  });
  effect(['OUTBOUND_HTTP_TIMEOUT_MS'], 'any other request takes no longer [OB10]', async () => {
    const answer = await endsFirst({ OUTBOUND_HTTP_TIMEOUT_MS: '200' }, (client, url) =>
      client.get(`/integrations/social/mastodon?externalUrl=${url}`),
    );
    expect((answer as { status: number }).status).toBe(400);
  });
  effect(['SSRF_ALLOWED_PRIVATE_CIDRS'], 'private ranges that may be called', async () => {
    await using receiver = await startReceiver();
    const sent = async (SSRF_ALLOWED_PRIVATE_CIDRS: string) => {
      await using app = await open({ SSRF_ALLOWED_PRIVATE_CIDRS });
      return (await at(app).post('/webhooks/send', { url: receiver.url })).body.success;
    };
    expect([await sent('127.0.0.1/32'), await sent('10.0.0.0/8')]).toEqual([true, false]);
  });
  effect(
    ['OPERATOR_ALLOWED_PRIVATE_CIDRS'],
    'private ranges that settings of the operator may call, and no organization',
    async () => {
      await using receiver = await startReceiver({ answer: (response) => void response.writeHead(404).end() });
      const { hostname, port } = new URL(receiver.url);
      await using app = await open({
        SSRF_ALLOWED_PRIVATE_CIDRS: '10.0.0.0/8',
        OPERATOR_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32',
      });
      const storage = {
        domain: 'storage',
        providerId: 's3_compatible',
        credentials: { accessKeyId: 'rookery', secretAccessKey: 'secret-of-the-storage' },
        options: { endpoint: `http://${hostname}:${port}`, bucket: 'files' },
      };
      const asked = async (ask: Promise<unknown>) => {
        const before = receiver.ledger.length;
        await ask;
        return receiver.ledger.length > before;
      };
      expect(await asked(at(app).post('/webhooks/send', { url: receiver.url }))).toBe(false);
      expect(await asked(at(app).post('/providers/settings/test', storage))).toBe(false);
      expect((await at(app).post('/providers/settings', storage)).body).toMatchObject({ code: 'blocked_url' });
      const made = await at(app).post('/admin/providers/settings', storage);
      expect(made.status).toBe(201);
      try {
        expect(await asked(at(app).post(`/admin/providers/settings/${made.body.id}/test`))).toBe(true);
        expect(await asked(at(app).post('/admin/providers/settings/test', storage))).toBe(true);
        const upload = formOf(await picture(8, 8), { name: 'a.png' });
        expect(await asked(at(app).post('/files/upload-simple', upload))).toBe(true);
        expect(await asked(at(app).post('/webhooks/send', { url: receiver.url }))).toBe(false);
      } finally {
        await at(app).delete(`/admin/providers/settings/${made.body.id}`);
      }
    },
  );
  effect(
    ['EGRESS_SIDECARS', 'EGRESS_ECHO_URL'],
    'routes of those named may use a proxy there, and ask there where they come out',
    async () => {
      await using proxy = await startProxy({ protocol: 'socks5', refuses: 2 });
      const tried = async (env: Env, path = '/providers/settings/test') => {
        await using app = await open({
          SSRF_ALLOWED_PRIVATE_CIDRS: '10.0.0.0/8',
          EGRESS_ECHO_URL: 'https://93.184.215.14/echo',
          ...env,
        });
        const setting = {
          domain: 'vpn',
          providerId: 'custom',
          credentials: { protocol: 'socks5', host: '127.0.0.1', port: String(proxy.port) },
        };
        await at(app).post(path, setting);
        return proxy.asked.splice(0).join();
      };
      const place = `127.0.0.1:${proxy.port}`;
      expect(await tried({})).toBe('');
      expect(await tried({ EGRESS_SIDECARS: place })).toBe('');
      expect(await tried({ EGRESS_SIDECARS: place }, '/admin/providers/settings/test')).toContain('93.184.215.14');
      expect(await tried({ EGRESS_SIDECARS: `${newId()}@${place}` })).toBe('');
      expect(await tried({ EGRESS_SIDECARS: `${newId()}@${place},${world.ann.orgId}@${place}` })).toContain(
        '93.184.215.14',
      );
    },
  );
});

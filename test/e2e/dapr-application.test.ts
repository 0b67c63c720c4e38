import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { type Running, startProcess } from '../../dapr/processes.ts';
import { call } from '../../src/operations/cli/call.ts';
import { newId, systemClock } from '../../src/platform/kernel/index.ts';
import { postBody, type ServiceClient, signUpAt } from '../support/processes/client.ts';
import { describeDapr } from '../support/processes/describe-dapr.ts';
import { type Service, startCluster } from '../support/processes/service.ts';
import { testDatabase, type TestDatabase } from '../support/wire/database.ts';
import { eventually } from '../support/wire/eventually.ts';

// examples/dapr-application beside the product, each with real daprd: what docs/dapr-applications.md says.

const FOLDER = fileURLToPath(new URL('../../examples/dapr-application/', import.meta.url));
const APP_ID = 'dapr-application';
const START_MS = 300_000;
const WAIT_MS = 120_000;
const Channel = z.object({ id: z.string() });
const Me = z.object({ orgId: z.string() });
const One = z.object({ state: z.string(), publishDate: z.string() });
const Heard = z.array(
  z.object({
    id: z.string(),
    type: z.string(),
    subject: z.string(),
    orgid: z.string(),
    data: z.object({ event: z.string(), data: z.record(z.string(), z.unknown()) }),
  }),
);

const redisUrl = process.env['TEST_REDIS_URL'];
(redisUrl
  ? describeDapr
  : (name: string, cases: () => void) => describe.skip(`${name} [skipped: no redis-server]`, cases))(
  'another Dapr application',
  () => {
    let database: TestDatabase;
    let service: Service;
    let app: Running;
    let client: ServiceClient;
    let orgId: string;
    let channelId: string;
    let sidecar: { http: string; token: Record<string, string> };
    let own: (path: string, body?: object) => Promise<{ status: number; body: unknown; text: string }>;
    const begun = new AsyncDisposableStack();

    beforeAll(async () => {
      database = begun.use(await testDatabase());
      service = begun.use(
        await startCluster({
          database,
          redisUrl,
          hosts: 1,
          env: { DAPR_EVENTS_PUBSUB: 'events' },
          resources: `${FOLDER}components`,
        }),
      );
      client = await signUpAt(service.url);
      ({ orgId } = await client.api('/public/v1/me', Me));
      const name = `neighbour-${randomBytes(4).toString('hex')}`;
      ({ id: channelId } = await client.own('/integrations/social-connect/sandbox', Channel, {
        body: { fields: { name }, allowPreview: true },
      }));
      const { ports, apiToken, process: daprd } = await service.neighbour!(APP_ID, `${FOLDER}components`);
      sidecar = { http: `http://127.0.0.1:${ports.http}`, token: { 'dapr-api-token': apiToken } };
      app = startProcess({
        name: APP_ID,
        command: process.execPath,
        args: ['main.mjs'],
        cwd: FOLDER,
        logFile: daprd.logFile.replace(/[^/]+$/, `${APP_ID}.log`),
        environment: {
          PATH: process.env['PATH'],
          APP_PORT: `${ports.app}`,
          DAPR_HTTP_PORT: `${ports.http}`,
          DAPR_API_TOKEN: apiToken,
          ROOKERY_API_KEY: client.key,
        },
      });
      begun.defer(async () => void (await app.stop(2_000)));
      own = (path, body) =>
        call(body ? 'POST' : 'GET', `http://127.0.0.1:${ports.app}${path}`, { headers: {}, body, timeoutMs: 60_000 });
      // its sidecar is ready when it has found its app, placement and the API
      await eventually(
        'the application reaches the API',
        () =>
          own('/channels').then(
            ({ status }) => status === 200,
            () => false,
          ),
        WAIT_MS,
      ).catch((error: unknown) => Promise.reject(new Error(`${String(error)}\n${service.lastWords(30)}`)));
    }, START_MS);
    afterAll(() => begun.disposeAsync(), 60_000);

    const create = async (date: Date): Promise<string> => {
      const { status, body, text } = await own('/posts', postBody({ channelId, date, content: '<p>Grüße</p>' }));
      expect([status, text]).toEqual([200, expect.any(String)]);
      return (body as { postId: string }[])[0]!.postId;
    };
    const heard = async () => Heard.parse((await own('/heard')).body);
    const hears = async (type: string, postId: string) => {
      const found = async () => (await heard()).filter((one) => one.type === type && one.subject === postId);
      await eventually(`${type} of ${postId} is heard`, async () => (await found()).length > 0, WAIT_MS);
      return found();
    };
    /** Asks its sidecar for a method of an actor, as the client of Dapr's makers does. */
    const actor = (path: string, body: unknown) =>
      call('POST', `${sidecar.http}/v1.0/actors/${path}`, { headers: sidecar.token, body, timeoutMs: 60_000 });

    test('calls the API by service invocation, with a key or not at all', async () => {
      const { status, body } = await own('/channels');
      expect([status, body]).toEqual([200, [expect.objectContaining({ id: channelId })]]);
      const path = `${sidecar.http}/v1.0/invoke/rookery-api/method/public/v1/posts`;
      const nobody = await call('POST', path, { headers: sidecar.token, body: {}, timeoutMs: 60_000 });
      expect([nobody.status, nobody.body]).toEqual([401, expect.objectContaining({ msg: 'No API Key found' })]);
      // it comes from the sidecar on the API's machine, and is not taken for a program there
      const numbers = `${sidecar.http}/v1.0/invoke/rookery-api/method/metrics`;
      expect((await call('GET', numbers, { headers: sidecar.token, timeoutMs: 60_000 })).status).toBe(404);
      expect((await call('GET', `${service.url}/metrics`, { timeoutMs: 60_000 })).status).toBe(200);
    });

    test('hears events as cloud events with the body of webhooks, under one id each', async () => {
      const postId = await create(systemClock.in(2_000));
      const [published] = await hears('rookery.post.published', postId);
      expect(published).toMatchObject({
        id: expect.stringMatching(/^evt_\d+_\d+$/),
        orgid: orgId,
        data: { event: 'post.published', data: { postId, integrationId: channelId, state: 'PUBLISHED' } },
      });
      const ids = (await hears('rookery.post.scheduled', postId)).map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
    }, 180_000);

    test('moves a post by its actor', async () => {
      const postId = await create(systemClock.in(48 * 3_600_000));
      const date = systemClock.in(24 * 3_600_000).toISOString();
      const moved = await own('/move', { orgId, postId, date });
      expect([moved.status, moved.body]).toEqual([200, { state: 'QUEUE', publishDate: date }]);
      expect(await client.api(`/public/v1/posts/${postId}`, One)).toMatchObject({ publishDate: date });
      const unknown = await own('/move', { orgId, postId: newId(), date });
      expect([unknown.status, unknown.text]).toEqual([
        502,
        expect.stringMatching(/ERR_ACTOR_INVOKE_METHOD.*\(400\).*not_found/),
      ]);
    }, 120_000);

    test('cannot call what the contracts keep to the instance', async () => {
      const postId = await create(systemClock.in(48 * 3_600_000));
      const by = { userId: 'somebody', schedulesFreely: true };
      for (const [path, input] of [
        [`Organization/${orgId}/method/admit`, [[{}]]],
        [`Post/${orgId}:${postId}/method/cancel`, [{}]],
        [`Channel/${orgId}:${channelId}/method/remove`, [{}]],
        [`Post/${orgId}:${postId}/method/setStatus`, [{ status: 'draft', by }]],
      ] as const) {
        const { status, text } = await actor(path, input);
        expect([path, status, text]).toEqual([path, 500, expect.stringMatching(/\((403|400)\)/)]);
      }
      expect(await client.api(`/public/v1/posts/${postId}`, One)).toMatchObject({ state: 'QUEUE' });
      expect(await actor(`Channel/${orgId}:${channelId}/method/wake`, [{}])).toMatchObject({ status: 200 });
    }, 120_000);
  },
);

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { freePorts } from '../../support/wire/ports.ts';
import { createdId, postBody, signUpAt, type ServiceClient } from '../../support/processes/client.ts';
import { describeDapr } from '../../support/processes/describe-dapr.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { type Service, startCluster } from '../../support/processes/service.ts';

// The product as an actor host and an API on real Dapr: what an operator is shown by a process that hosts nothing.

const Report = z.object({
  engine: z.string(),
  hosts: z.array(
    z.object({
      incarnation: z.string(),
      engine: z.string(),
      address: z.string(),
      silent: z.boolean(),
      here: z.boolean(),
      types: z.array(z.string()),
      active: z.record(z.string(), z.int()),
    }),
  ),
  types: z.array(z.object({ type: z.string(), hosts: z.int(), active: z.int() })),
  reminders: z.object({ pending: z.int(), overdue: z.int(), from: z.string() }),
  lateness: z.object({ count: z.int(), p50Ms: z.number().nullable() }),
  runtime: z.object({ sidecar: z.object({ id: z.string(), runtimeVersion: z.string() }), placement: z.unknown() }),
});

describeDapr('operations routes and metrics of a cluster', () => {
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let service: Service;
  let ann: ServiceClient;
  let metricsPort: number;
  beforeAll(async () => {
    [metricsPort] = (await freePorts(1)) as [number];
    database = await testDatabase();
    service = await startCluster({
      database,
      hosts: 1,
      redisUrl: process.env['TEST_REDIS_URL'],
      env: { METRICS_PORT: `${metricsPort}` },
    });
    ann = await signUpAt(service.url); // the first user: a super-admin
  }, 180_000);
  afterAll(async () => {
    await service?.[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  }, 60_000);

  const report = () => ann.own('/admin/actors', Report);
  const numbers = async (url: string) => (await fetch(`${url}/metrics`)).text();

  test('the API reports the host, its actors, the waiting rows and the Dapr runtime; the host serves its own metrics', async () => {
    const { id: channelId } = await ann.own('/integrations/social-connect/sandbox', z.object({ id: z.string() }), {
      body: { fields: { name: 'Operated' }, allowPreview: true },
    });
    const inAnHour = new Date(Date.now() + 3_600_000);
    expect(
      createdId(await ann.ask('/public/v1/posts', { body: postBody({ channelId, date: inAnHour, content: 'Later' }) })),
    ).toBeDefined();
    await eventually('the host tells of the active actor', async () =>
      (await report()).types.some(({ type, active }) => type === 'Organization' && active === 1),
    );

    const shown = await report();
    expect(shown).toMatchObject({
      engine: 'dapr',
      reminders: { pending: 1, overdue: 0, from: 'rows' },
      runtime: { sidecar: { id: 'rookery-api', runtimeVersion: '1.18.3' } },
    });
    expect(shown.hosts).toMatchObject([{ engine: 'dapr', silent: false, here: false }]);
    expect(shown.types.map(({ type, hosts }) => [type, hosts])).toEqual([
      ['Channel', 1],
      ['Organization', 1],
      ['Post', 1],
      ['Webhook', 1],
    ]);
    expect(JSON.stringify(shown.runtime.placement)).toContain('"Organization"');

    const host = await numbers(`http://127.0.0.1:${metricsPort}`);
    expect(host).toMatch(/^rookery_actors_active\{type="Organization"\} 1$/m);
    expect(host).toMatch(/^rookery_actor_calls_total [1-9]/m);
    const api = await numbers(service.url);
    expect(api).toMatch(/^rookery_http_requests_total\{method="POST",route="\/public\/v1\/posts",status="201"\} 1$/m);
    expect(api).not.toMatch(/^rookery_actors_active/m);
  }, 60_000);

  test('the API reports a killed host as silent', async () => {
    await service.kill(0, { sidecar: true });
    await eventually('it is silent', async () => (await report()).hosts.every(({ silent }) => silent));
    expect((await report()).types).toMatchObject([{ hosts: 0 }, { hosts: 0 }, { hosts: 0 }, { hosts: 0 }]);
  }, 60_000);
});

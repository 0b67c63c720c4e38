import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from '@jest/globals';
import { ask } from '../../../dapr/processes.ts';
import { type DaprCluster, startDapr } from '../../support/processes/dapr-harness.ts';
import { describeDapr } from '../../support/processes/describe-dapr.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';

describeDapr('app ids of two clusters on one machine', () => {
  const begun = new AsyncDisposableStack();
  afterAll(() => begun.disposeAsync(), 60_000);

  test('a call reaches the API of its own cluster', async () => {
    const database = begun.use(await testDatabase());
    const nothing = mkdtempSync(`${tmpdir()}/rookery-names-`);
    begun.defer(() => rmSync(nothing, { recursive: true }));

    /** A cluster whose API says its name, and an application beside it that calls it. */
    const start = async (name: string) => {
      const cluster: DaprCluster = begun.use(await startDapr({ databaseUrl: database.url }));
      const api = createServer((_request, answer) => answer.end(name));
      await once(api.listen(0, '127.0.0.1'), 'listening');
      begun.defer(() => (api.closeAllConnections(), void api.close()));
      cluster.sidecar(await cluster.reserve(), 'api', (api.address() as AddressInfo).port);
      const ports = await cluster.reserve();
      cluster.neighbour(ports, 'neighbour', nothing);
      return () => ask(`http://127.0.0.1:${ports.http}/v1.0/invoke/rookery-api/method/who`);
    };
    const [first, second] = await Promise.all([start('first'), start('second')]);
    for (const call of [first, second])
      await eventually('the API is found', async () => (await call()).status === 200, 60_000);
    for (let n = 0; n < 10; n++) expect([(await first()).text, (await second()).text]).toEqual(['first', 'second']);
  }, 120_000);
});

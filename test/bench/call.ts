import { fileURLToPath } from 'node:url';
import { startDapr } from '../support/processes/dapr-harness.ts';
import { placed } from '../support/processes/dapr-engine.ts';
import type { Child } from './kit/child.ts';
import type { Figures } from './kit/figures.ts';
import { CannotRun, type Options } from './kit/options.ts';
import { interleave, type Side } from './kit/pairs.ts';
import { cpuMs } from './kit/processes.ts';
import type { Report } from './kit/report.ts';
import { openWorld, type World } from './kit/world.ts';

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const HOST = path('./processes/call-host.ts');
const FLOOR = path('./processes/call-floor.ts');
const CALLS = path('./kit/calls.ts');

/** Calls of an actor that does nothing: what a turn costs in the process, and through sidecars. */
export async function call(options: Options): Promise<Report> {
  await using world = await openWorld(options);
  // the world must outlive it
  return await (options.engine === 'embedded' ? embedded(options, world) : dapr(options, world));
}

const WITHOUT_TOKEN = "rookery, without the caller's token";
/** Of the sidecars and of the apps, which production asks for: every side shows the one and is shown the other. */
const TOKENS = { apiToken: 'a'.repeat(48), appToken: 'b'.repeat(48) };

const lengthOf = ({ quick }: Options) => (quick ? 500 : 2_000);
const side = (name: string, child: Child, message: object): Side => ({
  name,
  run: () => child.ask({ do: 'calls', ...message }) as Promise<Figures>,
});
const settings = { callers: '1, 32, 64 with an actor each; 1,000 on one actor for the batched method', input: 'empty' };

async function embedded(options: Options, world: World): Promise<Report> {
  const ms = lengthOf(options);
  const { url: databaseUrl } = await world.database();
  const host = world.script(HOST, { databaseUrl, hosts: true });
  await host.ask({ do: 'start' });
  const { pairs, figures, ratios } = await interleave(
    [side('rookery', host, { ms }), side('promise chain per key', host, { do: 'chains', ms })],
    [
      {
        name: 'one call at a time (floor)',
        figure: 'lone_per_s',
        peer: 'promise chain per key',
        better: 'greater',
        goal: 1 / 8,
      },
      { name: '32 callers (floor)', figure: 'c32_per_s', peer: 'promise chain per key', better: 'greater' },
    ],
    options,
  );
  const own = figures['rookery']!;
  return {
    bench: 'call',
    size: 64,
    pairs,
    skipped: [],
    figures,
    ratios,
    settings,
    leavesOut: ['the floor checks no input, has no mailbox bound, no deadline and no errors'],
    goals: [
      { name: 'calls a second, one at a time', value: own['lone_per_s']!, least: 50_000 },
      { name: 'calls a second, 32 callers', value: own['c32_per_s']!, least: 50_000 },
    ],
  };
}

async function dapr(options: Options, world: World): Promise<Report> {
  const ms = lengthOf(options);
  const { url: databaseUrl } = await world.database();
  const redis = await world
    .redis()
    .catch((error: unknown) => (error instanceof CannotRun ? undefined : Promise.reject(error)));
  await using cluster = await startDapr({ databaseUrl, redisUrl: redis?.url, ...TOKENS });
  const daprOf = ({ http, grpc, app }: { http: number; grpc: number; app: number }) => ({
    httpPort: http,
    grpcPort: grpc,
    appPort: app,
    placementHealthUrl: cluster.placementHealthUrl,
    ...TOKENS,
  });

  const hostPorts = await cluster.reserve();
  const host = world.script(HOST, { databaseUrl, hosts: true, dapr: daprOf(hostPorts) });
  const hostSidecar = cluster.sidecar(hostPorts);
  await host.ask({ do: 'start' });
  const apiPorts = await cluster.reserve();
  const api = world.script(HOST, { databaseUrl, hosts: false, dapr: daprOf(apiPorts) });
  const apiSidecar = cluster.sidecar(apiPorts, 'api');

  const openPorts = await cluster.reserve();
  const open = world.script(HOST, {
    databaseUrl,
    hosts: true,
    dapr: daprOf(openPorts),
    type: 'BenchWithoutToken',
    callerToken: '',
  });
  const openSidecar = cluster.sidecar(openPorts);
  await open.ask({ do: 'start' });

  const sdkPorts = await cluster.reserve();
  const sdk = await world.peer('call-sdk.mjs', {
    httpPort: sdkPorts.http,
    appPort: sdkPorts.app,
    apiToken: TOKENS.apiToken,
    calls: CALLS,
  });
  const sdkSidecar = cluster.sidecar(sdkPorts);
  await sdk.ask({ do: 'start' });
  await Promise.all([placed(hostSidecar), placed(openSidecar), placed(sdkSidecar)]);
  await sdk.ask({ do: 'ready' });

  const app = world.script(FLOOR, {});
  const proxy = world.script(FLOOR, {});
  const by = (await proxy.ask({ do: 'proxy', to: await app.ask({ do: 'app' }) })) as string;

  /** With what the sidecars use meanwhile, for all of its calls together. */
  const withSidecars = (name: string, child: Child, pids: readonly number[]): Side => ({
    name,
    async run() {
      const before = cpuMs(pids);
      const figures = await (child.ask({ do: 'calls', ms }) as Promise<Figures>);
      return {
        ...figures,
        sidecars_cpu_share:
          (cpuMs(pids) - before) / ms / Object.keys(figures).filter((key) => key.endsWith('_per_s')).length,
      };
    },
  });
  const { pairs, figures, ratios } = await interleave(
    [
      withSidecars('rookery', host, [hostSidecar.process.pid]),
      withSidecars('rookery, second sidecar', api, [hostSidecar.process.pid, apiSidecar.process.pid]),
      withSidecars(WITHOUT_TOKEN, open, [openSidecar.process.pid]),
      side('two exchanges', app, { by, ms }),
      withSidecars('@dapr/dapr@3.18.0', sdk, [sdkSidecar.process.pid]),
    ],
    [
      {
        name: 'p50 of a lone call, two exchanges (floor)',
        figure: 'lone_p50_ms',
        peer: 'two exchanges',
        better: 'smaller',
        goal: 1 / 1.3,
      },
      {
        name: 'p50 of a lone call through a second sidecar, two exchanges (floor)',
        of: 'rookery, second sidecar',
        figure: 'lone_p50_ms',
        peer: 'two exchanges',
        better: 'smaller',
        goal: 1 / 2,
      },
      {
        name: "rate of a lone call, without the caller's token",
        figure: 'lone_per_s',
        peer: WITHOUT_TOKEN,
        better: 'greater',
        goal: 0.97,
      },
      {
        name: "rate with 32 callers, without the caller's token",
        figure: 'c32_per_s',
        peer: WITHOUT_TOKEN,
        better: 'greater',
        goal: 0.97,
      },
      {
        name: 'rate with 32 callers, SDK',
        figure: 'c32_per_s',
        peer: '@dapr/dapr@3.18.0',
        better: 'greater',
        goal: 1.3,
      },
      {
        name: 'rate with 32 callers, two exchanges (floor)',
        figure: 'c32_per_s',
        peer: 'two exchanges',
        better: 'greater',
      },
    ],
    options,
  );
  return {
    bench: 'call',
    size: 64,
    pairs,
    skipped: [],
    figures,
    ratios,
    settings: { ...settings, dapr: '1.18.3, flags of dapr/processes.ts' },
    leavesOut: [
      'the two exchanges go over plain node:http, without any address of an actor',
      "without the caller's token its header is sent all the same, empty",
      'the SDK validates nothing, repeats nothing, and looks at no token that it is shown',
    ],
    goals: [
      {
        name: 'logical operations a second, one batched method, from the API process',
        value: figures['rookery, second sidecar']!['batched_per_s']!,
        least: 10_000,
      },
    ],
  };
}

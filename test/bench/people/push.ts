import { fileURLToPath } from 'node:url';
import type { Options } from '../kit/options.ts';
import { interleave } from '../kit/pairs.ts';
import type { Report } from '../kit/report.ts';
import { openWorld } from '../kit/world.ts';

const path = (name: string) => fileURLToPath(new URL(`./processes/${name}.ts`, import.meta.url));
/** Pushes at a time, as the product sends them. */
const AT_ONCE = 64;
const BARE = 'bare undici';

/** Pushes that are due at one moment, to a server where Firebase is, beside a loop that sends the same bytes. */
export async function push(options: Options): Promise<Report> {
  await using world = await openWorld(options);
  const devices = options.size ?? (options.quick ? 1_000 : 10_000);
  const { url: databaseUrl } = await world.database();
  const recorder = world.script(path('push-recorder'), {});
  const place = (await recorder.ask({ do: 'listen' })) as { port: number; cert: string };
  const host = world.script(path('push-host'), { databaseUrl, ...place });
  const bare = world.script(path('push-bare'), { ...place, atOnce: AT_ONCE });

  const sent = async (begin: () => Promise<unknown>) => {
    await recorder.ask({ do: 'reset', pushes: devices });
    const begun = performance.now();
    const work = begin();
    const { bytes, doubled } = (await recorder.ask({ do: 'all' })) as { bytes: number; doubled: number };
    const ms = performance.now() - begun;
    await work;
    return { pushes_per_s: devices / (ms / 1_000), bytes_each: bytes / devices, doubled };
  };
  const compared = await interleave(
    [
      {
        name: 'rookery',
        async run() {
          await host.ask({ do: 'seed', devices });
          const figures = await sent(() => host.ask({ do: 'start' }));
          return { ...figures, left: (await host.ask({ do: 'stop' })) as number };
        },
      },
      {
        name: BARE,
        async run() {
          await host.ask({ do: 'seed', devices });
          const tokens = (await host.ask({ do: 'tokens' })) as string[];
          return sent(() => bare.ask({ do: 'send', tokens }));
        },
      },
    ],
    [{ name: `pushes, ${BARE}`, figure: 'pushes_per_s', peer: BARE, better: 'greater', goal: 0.8 }],
    options,
  );
  const own = compared.figures['rookery']!;
  return {
    bench: 'push',
    size: devices,
    ...compared,
    goals: [
      { name: 'doubled', value: own['doubled']!, most: 0 },
      { name: 'left', value: own['left']!, most: 0 },
    ],
    settings: { atOnce: AT_ONCE },
    leavesOut: ['the loop claims nothing, keeps no outcome and passes no guard'],
    skipped: [],
  };
}

import { fileURLToPath } from 'node:url';
import type { Options } from '../kit/options.ts';
import { type Comparison, interleave, type Side } from '../kit/pairs.ts';
import type { Report } from '../kit/report.ts';
import { openWorld } from '../kit/world.ts';
import type { Child } from '../kit/child.ts';

const HOST = fileURLToPath(new URL('./processes/analytics-read-host.ts', import.meta.url));
const METRICS = 8;
const CHANNELS_OF_ORG = 10;
const CALLERS = 16;
const BY_HAND = 'SQL by hand';
/** What is read: the last 30 days of a channel, a year of it by weeks, and the overview of an organization. */
const READS = ['channel', 'weeks', 'overview'] as const;

/** Numbers of channels, read beside many others: by the product, and by the same SQL without it. */
export async function analyticsRead(options: Options): Promise<Report> {
  await using world = await openWorld(options);
  const { quick } = options;
  const days = quick ? 60 : 540;
  const orgs = Math.ceil((options.size ?? (quick ? 20_000 : 4_000_000)) / (CHANNELS_OF_ORG * METRICS * days));
  const rows = orgs * CHANNELS_OF_ORG * METRICS * days;
  const ms = quick ? 300 : 3_000;
  const database = await world.database();
  const start = () => world.script(HOST, { databaseUrl: database.url });
  const [host, bare] = [start(), start()];
  await host.ask({ do: 'seed', orgs, channels: CHANNELS_OF_ORG, days });
  const side = (name: string, child: Child, does: string): Side => ({
    name,
    async run() {
      const figures: Record<string, number> = {};
      for (const read of READS) {
        const { perSecond, p99Ms, cpuMsPerRead, statementsPerRead, values } = await child.ask({
          do: does,
          read,
          callers: CALLERS,
          ms,
        });
        if (values === 0) throw new Error(`${name} has read nothing of ${read}`);
        Object.assign(figures, {
          [`${read}_per_s`]: perSecond,
          [`${read}_p99_ms`]: p99Ms,
          [`${read}_cpu_ms`]: cpuMsPerRead,
          [`${read}_values`]: values,
          [`${read}_statements`]: statementsPerRead,
        });
      }
      return figures;
    },
  });
  const compared = await interleave(
    [side('rookery', host, 'read'), side(BY_HAND, bare, 'byHand')],
    READS.flatMap((read): Comparison[] => [
      { name: `${read}, ${BY_HAND}`, figure: `${read}_per_s`, peer: BY_HAND, better: 'greater', goal: 0.8 },
      { name: `CPU of ${read}, ${BY_HAND}`, figure: `${read}_cpu_ms`, peer: BY_HAND, better: 'smaller' },
    ]),
    options,
  );
  const [own, peer] = [compared.figures['rookery']!, compared.figures[BY_HAND]!];
  return {
    bench: 'analytics-read',
    size: rows,
    ...compared,
    goals: READS.flatMap((read) => [
      { name: `statements of ${read}`, value: own[`${read}_statements`]!, most: 1 },
      {
        name: `values of ${read}, beside those by hand`,
        value: own[`${read}_values`]! / peer[`${read}_values`]!,
        least: 1,
        most: 1,
      },
    ]),
    settings: { orgs, channels: CHANNELS_OF_ORG, metrics: METRICS, days, callers: CALLERS },
    leavesOut: ['the peer asks for no plan, checks no id and tells no gaps'],
    skipped: [],
  };
}

import { fileURLToPath } from 'node:url';
import type { Figures } from '../kit/figures.ts';
import type { Options } from '../kit/options.ts';
import { interleave, type Side } from '../kit/pairs.ts';
import type { Report } from '../kit/report.ts';
import { openWorld } from '../kit/world.ts';

const CALLERS = 200;
const HOST = fileURLToPath(new URL('./processes/ai-budget-host.ts', import.meta.url));

interface Race {
  granted: number;
  refused: number;
  commits: number;
  figures: Figures;
}

/**
 * Texts of one organization up to a cap, and at it: exactly as many pass as it has room for, whatever comes at once. The
 * provider answers at once, so the figures are what a call costs here.
 */
export async function aiBudget(options: Options): Promise<Report> {
  await using world = await openWorld(options);
  const requests = options.size ?? (options.quick ? 400 : 4_000);
  const most = requests / 2;
  const { url: databaseUrl } = await world.database();
  const host = world.script(HOST, { databaseUrl });

  const own: Side = {
    name: 'rookery',
    async run() {
      const orgId = (await host.ask({ do: 'org', cents: most })) as string;
      const race = (count: number) =>
        host.ask({ do: 'race', orgId, callers: CALLERS, requests: count }) as Promise<Race>;
      const before = await race(requests);
      const after = await race(CALLERS);
      if (before.granted !== most || before.refused !== requests - most)
        throw new Error(`Not exact: ${before.granted} of ${most} passed`);
      const { grants_per_s, p50_ms, p99_ms } = before.figures as Record<string, number>;
      return {
        calls_per_s: grants_per_s!,
        p50_ms: p50_ms!,
        p99_ms: p99_ms!,
        commits_per_call: before.commits / before.granted,
        passed_at_cap: after.granted,
      };
    },
  };
  const compared = await interleave([own], [], options);
  const figures = compared.figures['rookery']!;
  return {
    bench: 'ai-budget',
    size: requests,
    ...compared,
    goals: [
      { name: 'calls that passed at the cap', value: figures['passed_at_cap']!, most: 0 },
      { name: 'commits a call', value: figures['commits_per_call']!, most: 2 },
    ],
    settings: { callers: CALLERS, room: `${most} of ${requests} calls`, connections: 8, provider: 'answers at once' },
    leavesOut: [],
    skipped: [],
  };
}

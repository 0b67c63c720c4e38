import { fileURLToPath } from 'node:url';
import type { Child } from '../kit/child.ts';
import type { Options } from '../kit/options.ts';
import { interleave, type Side } from '../kit/pairs.ts';
import type { Report } from '../kit/report.ts';
import { openWorld } from '../kit/world.ts';

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
/** Of a content pipeline for one channel: outline, write, review. */
const CALLS = 3;
const MOST_COMMITS = 3;

/**
 * Content pipelines side by side, whose model answers after 200 ms: the time until all are done, beside a loop that
 * makes the same calls and keeps nothing.
 */
export async function runs(options: Options): Promise<Report> {
  await using world = await openWorld(options);
  const size = options.size ?? (options.quick ? 20 : 100);
  const { url: databaseUrl } = await world.database();
  const upstream = world.script(path('./processes/runs-upstream.ts'), {});
  const { url } = (await upstream.ask({ do: 'address' })) as { url: string };
  const own = world.script(path('./processes/runs-host.ts'), { databaseUrl, upstream: url });
  const bare = world.script(path('./processes/runs-bare.ts'), { upstream: url });

  async function run(child: Child, more: object = {}): Promise<{ ms: number; commits: number; steps: number }> {
    await upstream.ask({ do: 'asked' });
    const { done, ...figures } = await child.ask({ do: 'run', runs: size, ...more });
    const { count } = (await upstream.ask({ do: 'asked' })) as { count: number };
    if (done !== size || count !== size * CALLS) throw new Error(`${done} of ${size} runs, with ${count} calls`);
    return figures;
  }
  const side = (name: string, child: Child): Side => ({
    name,
    run: async () => ({ total_ms: (await run(child)).ms }),
  });
  const compared = await interleave(
    [side('rookery', own), side('bare', bare)],
    [{ name: 'total', figure: 'total_ms', peer: 'bare', better: 'smaller', goal: 1 / 1.15 }],
    options,
  );
  const { commits, steps } = await run(own, { isCounted: true });
  return {
    bench: 'runs',
    size,
    ...compared,
    goals: [{ name: 'commits of a step', value: commits / steps, most: MOST_COMMITS }],
    settings: { upstreamMs: 200, calls: CALLS, steps: steps / size, kind: 'content pipeline of a topic, one channel' },
    leavesOut: [
      'the bare loop reserves and settles no money, keeps no result, event or trace, judges no text, and has no guard in front of its calls; its runs end with their process',
    ],
    skipped: [],
  };
}

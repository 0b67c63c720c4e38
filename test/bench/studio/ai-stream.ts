import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import type { Child } from '../kit/child.ts';
import { median, percentile } from '../kit/figures.ts';
import { CannotRun, type Options } from '../kit/options.ts';
import { interleave, type Side } from '../kit/pairs.ts';
import type { Report } from '../kit/report.ts';
import { openWorld } from '../kit/world.ts';

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const AT_ONCE = 200;
const TOGETHER = 8;
const FEW = 5;
const MOST_ADDED_MS = 5;
const MOST_MIB = 100;

interface Place {
  url: string;
  headers: Record<string, string>;
}
interface Use {
  cpuMs: number;
  rssMib: number;
}

/**
 * Texts that a provider streams, through the product and through a program of node:http that turns the same events into
 * the same events: the time to the first word, the processor time of a thousand events, the memory of many at once.
 */
export async function aiStream(options: Options): Promise<Report> {
  if (process.platform !== 'linux') throw new CannotRun('memory is counted by /proc');
  await using world = await openWorld(options);
  const events = options.size ?? (options.quick ? 200 : 1_000);
  const tries = options.quick ? 20 : 200;
  const { url: databaseUrl } = await world.database();
  const upstream = world.script(path('./processes/ai-stream-upstream.ts'), {});
  const { url } = (await upstream.ask({ do: 'address' })) as Place;
  const own = world.script(path('./processes/ai-stream-host.ts'), { databaseUrl, upstream: url });
  const bare = world.script(path('./processes/ai-stream-bare.ts'), { upstream: url });

  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const side = async (name: string, child: Child): Promise<Side> => {
    const place = (await child.ask({ do: 'address' })) as Place;
    const use = () => child.ask({ do: 'use' }) as Promise<Use>;
    return {
      name,
      async run() {
        await upstream.ask({ do: 'give', events: FEW });
        const first: number[] = [];
        for (let n = 0; n < tries; n += 1) first.push((await stream(agent, place, FEW)).firstMs);

        await upstream.ask({ do: 'give', events });
        const before = await use();
        const streams = Array.from({ length: TOGETHER }, () => stream(agent, place, events));
        await Promise.all(streams);
        const { cpuMs } = await use();

        await upstream.ask({ do: 'give', events: FEW, held: AT_ONCE });
        const idle = await use();
        const many = Array.from({ length: AT_ONCE }, () => stream(agent, place, FEW));
        await upstream.ask({ do: 'waitForAll' });
        const full = await use();
        await upstream.ask({ do: 'release' });
        await Promise.all(many);
        return {
          first_p50_ms: median(first),
          first_p99_ms: percentile(
            first.toSorted((a, b) => a - b),
            0.99,
          ),
          cpu_ms_per_1000_events: ((cpuMs - before.cpuMs) * 1_000) / (events * TOGETHER),
          memory_of_200_mib: Math.max(full.rssMib - idle.rssMib, 0.1),
        };
      },
    };
  };
  try {
    const compared = await interleave(
      [await side('rookery', own), await side('bare', bare)],
      [
        { name: 'time to the first word', figure: 'first_p50_ms', peer: 'bare', better: 'smaller' },
        { name: 'cpu of 1,000 events', figure: 'cpu_ms_per_1000_events', peer: 'bare', better: 'smaller', goal: 0.5 },
      ],
      options,
    );
    const [ours, theirs] = [compared.figures['rookery']!, compared.figures['bare']!];
    return {
      bench: 'ai-stream',
      size: events,
      ...compared,
      goals: [
        {
          name: 'added time to the first word at the median, ms',
          value: ours['first_p50_ms']! - theirs['first_p50_ms']!,
          most: MOST_ADDED_MS,
        },
        {
          name: 'more memory for 200 streams at once, MiB',
          value: ours['memory_of_200_mib']! - theirs['memory_of_200_mib']!,
          most: MOST_MIB,
        },
      ],
      settings: { events, together: TOGETHER, provider: 'openai, a process that gives all events at once' },
      leavesOut: [
        'the bare program asks nobody who calls, counts no limits, reserves and settles no money, and has no guard in front of its calls',
      ],
      skipped: [],
    };
  } finally {
    agent.destroy();
  }
}

/** One stream; rejects when it has not so many events `text` and one `done`. */
function stream(agent: Agent, { url, headers }: Place, events: number): Promise<{ firstMs: number }> {
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    let firstMs = 0;
    let text = '';
    const asked = request(url, { method: 'POST', agent, headers }, (response) => {
      response.on('data', (piece: Buffer) => {
        firstMs ||= performance.now() - begun;
        text += piece.toString();
      });
      response.on('error', reject);
      response.on('end', () => {
        const count = (name: string) => text.split(`event: ${name}\n`).length - 1;
        if (count('text') === events && count('done') === 1) resolve({ firstMs });
        else reject(new Error(`A stream gave ${count('text')} of ${events} events: ${text.slice(0, 300)}`));
      });
    });
    asked.on('error', reject);
    asked.end(JSON.stringify({ action: 'rewrite', content: 'A text' }));
  });
}

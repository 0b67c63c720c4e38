// A process of its own that works on runs and media jobs, for tests that kill one: `node
// test/support/processes/scripts/runs-process.ts <setup as JSON>`. It says its incarnation, and begins to work with the first
// line that it reads, which may name a moment at which it dies.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { systemClock } from '../../../../src/platform/kernel/index.ts';
import { designerApp } from '../../worlds/studio/designer-app.ts';

/** What such a process needs of the world of a test. */
export interface RunsSetup {
  databaseUrl: string;
  folder: string;
  servers: Readonly<Record<string, string>>;
  env?: Record<string, string>;
}
/** Moments of a step that no server sees from outside. */
export type InnerMoment = 'claimed' | 'reserved' | 'answered' | 'drafted' | 'written' | 'kept';

const { databaseUrl, folder, servers, env = {} } = JSON.parse(process.argv[2]!) as RunsSetup;
let moment: string | undefined;
const dies = (now: InnerMoment) => {
  if (moment === now) process.kill(process.pid, 'SIGKILL');
};
let isEnding = false;
const sql = openDatabase({
  url: databaseUrl,
  onStatement: (text) => (isEnding ||= /update run_steps s\s+set state = \$/.test(text)),
});
const begin = sql.begin.bind(sql) as (...args: unknown[]) => Promise<unknown>;
sql.begin = (async (...args: unknown[]) => {
  const result = await begin(...args);
  if (isEnding) dies('written');
  return result;
}) as typeof sql.begin;

const clock = {
  ...systemClock,
  // no test has time for the rest between two looks at what other processes began
  sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms === 5_000 ? 50 : ms, signal),
};
const { context } = await designerApp({ sql, folder, servers, clock, env });
const { models, providers, posts, mediaJobs, runs } = context;

const { resolveAi } = models;
models.resolveAi = (...asked) => {
  dies('claimed');
  return resolveAi(...asked);
};
const open = providers.ai;
providers.ai = (adapter, use) => {
  const ai = open(adapter, use);
  return {
    ...ai,
    async object(request, signal) {
      dies('reserved');
      const answer = await ai.object(request, signal);
      dies('answered');
      return answer;
    },
  };
};
const { admitPosts } = posts;
posts.admitPosts = async (...asked) => {
  const admitted = await admitPosts(...asked);
  dies('drafted');
  return admitted;
};
const { wait } = mediaJobs;
mediaJobs.wait = async (...asked) => {
  const made = await wait(...asked);
  if (made) dies('kept');
  return made;
};

process.stdout.write(`${context.incarnation}\n`);
[moment] = (await once(createInterface({ input: process.stdin }), 'line')) as [string];
runs.start();
mediaJobs.start();

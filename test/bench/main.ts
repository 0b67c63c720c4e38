// npm run bench -- <name>...|all [--engine embedded|dapr] [--quick] [--pairs n] [--size n] [--write]
import { parseArgs } from 'node:util';
import { findDapr } from '../../dapr/install/index.ts';
import { writePerformance } from './kit/document.ts';
import { CannotRun, type Options } from './kit/options.ts';
import { endDescendants } from './kit/processes.ts';
import { headingOf, jsonLine, type Report, tables } from './kit/report.ts';

const ENGINES = ['embedded', 'dapr'] as const;
type Engine = (typeof ENGINES)[number];
const NAMES = [
  'schedule',
  'wave',
  'lateness',
  'hot-org',
  'call',
  'auth',
  'list',
  'mcp',
  'upload',
  'publish-file',
  'ai-budget',
  'ai-stream',
  'collab',
  'jobs',
  'follow-ups',
  'preflight',
  'fairness',
  'hang',
  'reminders',
  'webhooks',
  'growth',
  'replicas',
  'runs',
  'rollup',
  'export',
  'digest',
  'notify',
  'push',
  'live',
  'collect',
  'analytics-read',
  'retention',
] as const;
type Name = (typeof NAMES)[number];
const BENCHES: Record<Name, () => Promise<(options: Options) => Promise<Report>>> = {
  schedule: async () => (await import('./publishing/schedule.ts')).schedule,
  wave: async () => (await import('./publishing/wave.ts')).wave,
  lateness: async () => (await import('./publishing/lateness.ts')).lateness,
  'hot-org': async () => (await import('./publishing/hot-org.ts')).hotOrg,
  call: async () => (await import('./call.ts')).call,
  auth: async () => (await import('./auth.ts')).auth,
  list: async () => (await import('./list.ts')).list,
  mcp: async () => (await import('./mcp.ts')).mcp,
  upload: async () => (await import('./upload.ts')).upload,
  'publish-file': async () => (await import('./publishing/publish-file.ts')).publishFile,
  'ai-budget': async () => (await import('./studio/ai-budget.ts')).aiBudget,
  'ai-stream': async () => (await import('./studio/ai-stream.ts')).aiStream,
  collab: async () => (await import('./studio/collab.ts')).collab,
  jobs: async () => (await import('./studio/jobs.ts')).jobs,
  'follow-ups': async () => (await import('./publishing/follow-ups.ts')).followUps,
  preflight: async () => (await import('./publishing/preflight.ts')).preflight,
  fairness: async () => (await import('./publishing/fairness.ts')).fairness,
  hang: async () => (await import('./publishing/hang.ts')).hang,
  reminders: async () => (await import('./reminders.ts')).reminders,
  webhooks: async () => (await import('./webhooks.ts')).webhooks,
  growth: async () => (await import('./publishing/growth.ts')).growth,
  replicas: async () => (await import('./replicas.ts')).replicas,
  runs: async () => (await import('./studio/runs.ts')).runs,
  rollup: async () => (await import('./insights/rollup.ts')).rollup,
  digest: async () => (await import('./people/digest.ts')).digest,
  export: async () => (await import('./insights/export.ts')).exportNumbers,
  push: async () => (await import('./people/push.ts')).push,
  live: async () => (await import('./people/live.ts')).live,
  collect: async () => (await import('./insights/collect.ts')).collect,
  notify: async () => (await import('./people/notify.ts')).notify,
  'analytics-read': async () => (await import('./insights/analytics-read.ts')).analyticsRead,
  retention: async () => (await import('./insights/retention.ts')).retention,
};
/** No actor is asked by these, or by posts beside them only: on the other engine the same would be measured again. */
const WITHOUT_ACTORS: readonly Name[] = [
  'auth',
  'list',
  'mcp',
  'upload',
  'publish-file',
  'ai-budget',
  'ai-stream',
  'collab',
  'jobs',
  'runs',
  'rollup',
  'export',
  'digest',
  'notify',
  'push',
  'live',
  'collect',
  'analytics-read',
  'retention',
];
/** After it no pairs are added to those that were asked for. */
const MOST_MS = 10 * 60_000;
const MOST_OF_SEVERAL_MS = 4 * 60_000;
const QUICK_MS = 60_000;

const say = (line: string) => void process.stdout.write(`${line}\n`);
function usage(status: 0 | 2): never {
  say(
    `Usage: npm run bench -- <${NAMES.join('|')}>...|all [--engine ${ENGINES.join('|')}] [--quick] [--pairs n] [--size n] [--write]`,
  );
  process.exit(status);
}
const read = () =>
  parseArgs({
    allowPositionals: true,
    options: {
      engine: { type: 'string', default: 'embedded' },
      quick: { type: 'boolean', default: false },
      pairs: { type: 'string' },
      size: { type: 'string' },
      write: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
function readArguments(): ReturnType<typeof read> {
  try {
    return read();
  } catch (error) {
    say((error as Error).message);
    return usage(2);
  }
}
const { values, positionals } = readArguments();
if (values.help) usage(0);

const given = ENGINES.find((one) => one === values.engine) ?? usage(2);
const isAll = positionals.length === 1 && positionals[0] === 'all';
const chosen: { name: Name; engine: Engine }[] = isAll
  ? ENGINES.flatMap((one) =>
      NAMES.filter((name) => one === 'embedded' || !WITHOUT_ACTORS.includes(name)).map((name) => ({
        name,
        engine: one,
      })),
    )
  : positionals.map((asked) => ({ name: NAMES.find((name) => name === asked) ?? usage(2), engine: given }));
if (chosen.length === 0) usage(2);
const isOne = chosen.length === 1;

/** Runs one; undefined when this machine cannot. */
async function run(name: Name, engine: Engine): Promise<{ options: Options; report: Report } | { why: string }> {
  const { quick, pairs, size } = values;
  const options: Options = {
    engine,
    quick,
    pairs: pairs === undefined ? (quick ? 1 : 5) : Number(pairs),
    ...(size !== undefined && { size: Number(size) }),
    until: performance.now() + (quick ? QUICK_MS : isOne ? MOST_MS : MOST_OF_SEVERAL_MS),
    say: (line) => say(`${new Date().toISOString().slice(11, 19)}  ${line}`),
  };
  if (engine === 'dapr' && !(await findDapr())) return { why: 'Dapr is not on this machine: npm run dapr:install' };
  try {
    const bench = await BENCHES[name]();
    return { options, report: await bench(options) };
  } catch (error) {
    if (error instanceof CannotRun) return { why: error.message };
    throw error;
  }
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => {
    endDescendants();
    process.exit(2);
  });
const isWritten = !values.quick && (isAll || values.write);
const order = ENGINES.flatMap((one) => NAMES.map((other) => headingOf(other, one)));
let ran = 0;
let failed = 0;
for (const one of chosen) {
  try {
    const outcome = await run(one.name, one.engine);
    if ('why' in outcome) {
      say(`### ${headingOf(one.name, one.engine)}\n\nskipped (${outcome.why})`);
      continue;
    }
    ran += 1;
    const text = tables(outcome.options, outcome.report);
    say(`\n${text}\n\n${jsonLine(outcome.options, outcome.report)}`);
    if (isWritten) await writePerformance(text, order);
  } catch (error) {
    failed += 1; // the others are measured all the same
    say(
      `### ${headingOf(one.name, one.engine)}\n\nfailed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
    endDescendants();
  }
}
process.exit(ran > 0 && failed === 0 ? 0 : 2);

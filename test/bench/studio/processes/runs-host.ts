// A process of the product for the benchmark `runs`: organizations with a key of OpenAI and a cap, and the worker of
// runs over content pipelines that were begun before.
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { sealCredentials } from '../../../../src/publishing/channels/credentials.ts';
import { testApp } from '../../../support/worlds/app.ts';
import { answering } from '../../kit/answering.ts';
import { counted, idleRate } from '../../kit/counters.ts';
import { usage } from '../../kit/usage.ts';

const ORGS = 10;
const LOOK_MS = 10;
const { databaseUrl, upstream } = JSON.parse(process.argv[2]!) as { databaseUrl: string; upstream: string };
const sql = openDatabase({ url: databaseUrl });
const { context, signUp } = await testApp({
  sql,
  servers: { 'ai/openai': upstream },
  env: { SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32', RATE_LIMIT_SCALE: '1000000' },
});
const tenants: { orgId: string; userId: string; channel: string }[] = [];
for (let n = 0; n < ORGS; n += 1) {
  const { client, orgId, userId } = await signUp();
  await client.post('/providers/settings', { domain: 'ai', providerId: 'openai', credentials: { apiKey: 'key' } });
  await client.put('/ai/budget', { monthlyCents: 100_000_000 });
  const channel = newId();
  await sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${channel}, ${orgId}, 'mastodon', 'v1', ${channel}, 'A channel',
      ${sealCredentials(context.vault, { account: channel, values: {}, grantedAt: new Date() })})`;
  tenants.push({ orgId, userId, channel });
}
const wish = { topic: 'We launch on Monday', count: 1 };
const isActive = async () => (await sql`select from runs where is_active limit 1`).length > 0;
const restMs = 1_500;
const idle = await idleRate(sql, restMs);

async function work(): Promise<{ ms: number; cpuMs: number }> {
  const [begun, { cpuMs: before }] = [performance.now(), usage()];
  const worker = context.runs.start();
  while (await isActive()) await sleep(LOOK_MS);
  const [ms, { cpuMs }] = [performance.now() - begun, usage()];
  await worker[Symbol.asyncDispose]();
  return { ms, cpuMs: cpuMs - before };
}

answering({
  /** Begins runs, lets the worker do them, and answers how long that took. */
  async run({ runs, isCounted = false }: { runs: number; isCounted?: boolean }) {
    await sql`delete from runs`;
    for (let n = 0; n < runs; n += 1) {
      const { orgId, userId, channel } = tenants[n % ORGS]!;
      const author = { userId, schedulesFreely: true };
      await context.contentPipeline.begin(orgId, author, { ...wish, channels: [channel] });
    }
    const { result, commits } = isCounted
      ? await counted(sql, idle, restMs, work)
      : { result: await work(), commits: 0 };
    const [row] = await sql<{ done: number; steps: number }[]>`
      select (select count(*)::int from runs where state = 'done') as done, count(*)::int as steps from run_steps`;
    return { ...row!, ...result, commits };
  },
});

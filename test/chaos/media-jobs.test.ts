import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { chance, isFull, note, rounds } from '../support/processes/chaos.ts';
import { type JobsSetup, mediaJobsWorld, setProvider } from '../support/worlds/studio/media-jobs.ts';
import { eventually } from '../support/wire/eventually.ts';
import { testDatabase } from '../support/wire/database.ts';

// Media jobs while the processes that work on them are killed: at submits, at polls, and while results are copied.

const JOBS = isFull ? 500 : 36;
const ORGS = 3;
const LEASE_MS = 2_000;
const PROCESS = fileURLToPath(new URL('../support/processes/scripts/media-jobs-process.ts', import.meta.url));

async function startProcess(setup: JobsSetup): Promise<ChildProcess> {
  const child = spawn(process.execPath, [PROCESS, JSON.stringify(setup)], { stdio: ['ignore', 'pipe', 'inherit'] });
  await Promise.race([
    once(child.stdout!, 'data'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`A process of media jobs ended with ${code}`))),
  ]);
  return child;
}

test.each(rounds(5))(
  'round $round of $of: each media job is submitted and kept at most once and billed once, whatever process is killed',
  async ({ round }) => {
    const dice = chance(`media jobs, round ${round}`);
    await using db = await testDatabase();
    await using world = await mediaJobsWorld({ db });
    const { maker } = world;
    const setup = { databaseUrl: db.url, folder: world.folder, servers: maker.servers, leaseMs: LEASE_MS };
    const starting = [1, 2].map(() => startProcess(setup));
    const people = await Promise.all(Array.from({ length: ORGS }, () => world.app.signUp()));
    for (const person of people) for (const id of ['maker', 'blind']) await setProvider(person, id);

    const jobs = await Promise.all(
      Array.from({ length: JOBS }, async (_, n) => {
        const prompt = `job ${round}-${n}`;
        const micros = 1_000 + n;
        maker.plan(prompt, {
          polls: Array.from({ length: 1 + dice.pick(3) }, () => 'running' as const).concat('done' as never),
          micros,
        });
        const providerId = n % 4 === 0 ? 'blind' : 'maker';
        const { client } = people[n % ORGS]!;
        const answer = await client.post('/files/generate-image', { prompt, providerId }, { prefer: 'respond-async' });
        expect(answer.status).toBe(202);
        return { id: answer.body.jobId as string, prompt, providerId, micros };
      }),
    );

    const at = (part: number) => Math.floor(JOBS * (part + dice.next() * 0.2));
    const kill = async (child: ChildProcess) => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    };
    const [submits, copies] = [at(0.1), at(0.4)];
    /** What the provider does not list is looked up again for minutes: not here. */
    const hasten = () => db.sql`
      update media_jobs set next_at = now()
      where state = 'queued' and sent_at is not null and incarnation is null and next_at > now()`;
    const isOpen = async () => (await db.sql`select from media_jobs where ended_at is null limit 1`).length > 0;
    const [first, second] = await Promise.all(starting);
    try {
      await eventually('some are submitted', () => maker.all.size >= submits, 60_000);
      await kill(first!);
      await eventually(
        'some are copied, or nothing is left to copy: submits under way at a kill end as unknown',
        async () => {
          await hasten();
          return maker.downloads.length >= copies || !(await isOpen());
        },
        60_000,
      );
      await kill(second!);
    } finally {
      for (const child of [first, second]) child?.kill('SIGKILL');
    }
    await using _worker = world.app.context.mediaJobs.start(); // in this process, which lives on
    await eventually(
      'every job has ended',
      async () => {
        await hasten();
        return !(await isOpen());
      },
      60_000,
    );

    const rows = await db.sql<{ id: string; state: string; files: string[]; facts: number; billed: number | null }[]>`
      select j.id, j.state, j.file_ids::text[] as files,
        (select count(*)::int from outbox o where o.entity_id = j.id) as facts,
        (select l.micros::float8 from ai_ledger l where l.ref = j.reservation and l.kind = 'settlement') as billed
      from media_jobs j`;
    const byId = new Map(rows.map((row) => [row.id, row]));
    const unknown = rows.filter(({ state }) => state === 'unknown').length;
    note({ jobs: JOBS, unknown });
    for (const { id, prompt, providerId, micros } of jobs) {
      const { state, files, facts, billed } = byId.get(id)!;
      expect(maker.submits(prompt)).toBeLessThanOrEqual(1);
      expect(facts).toBe(1);
      // an outcome is unknown where the provider cannot be asked, or does not list it; what it may bill stays reserved
      if (state === 'unknown')
        expect([providerId === 'blind' || maker.jobs(prompt).length === 0, files, billed]).toEqual([true, [], null]);
      else expect([state, files.length, billed]).toEqual(['done', 1, micros]);
    }
    const charged = jobs.reduce((sum, { id, micros }) => sum + (byId.get(id)!.state === 'done' ? micros : 0), 0);
    const [ledger] = await db.sql`
      select coalesce(sum(micros) filter (where kind = 'settlement'), 0)::float8 as billed,
        coalesce(sum(micros) filter (where kind in ('reservation', 'release')), 0)::float8 as reserved
      from ai_ledger`;
    expect(ledger).toEqual({ billed: charged, reserved: unknown * 40_000 });
    const [kept] = await db.sql`select count(*)::int as n from files where generated is not null`;
    expect(kept!['n']).toBe(JOBS - unknown);
  },
  240_000,
);

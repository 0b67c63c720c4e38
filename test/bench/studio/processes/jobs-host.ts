// A process of the product for the benchmark `jobs`: a worker over rows of running jobs.
import { newId } from '../../../../src/platform/kernel/index.ts';
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { openMediaJobs } from '../../../../src/studio/media-jobs/index.ts';
import { makerAdapter } from '../../../support/worlds/studio/media-maker.ts';
import { mediaApp } from '../../../support/worlds/media.ts';
import { answering } from '../../kit/answering.ts';
import { measured } from '../../kit/memory.ts';

interface Settings {
  databaseUrl: string;
  folder: string;
  url: string;
  everyMs: number;
}
const { databaseUrl, folder, url, everyMs } = JSON.parse(process.argv[2]!) as Settings;
const sql = openDatabase({ url: databaseUrl });
const { context } = await mediaApp({
  sql,
  folder,
  servers: { 'media/maker': url },
  adapters: [makerAdapter('maker', { rhythm: { everyMs, mostMs: 86_400_000 } })],
  env: { MEDIA_UPLOAD_MAX_BYTES: String(2 ** 30) },
});
const room = openMediaJobs({
  ...context,
  log: context.logs.of('media-jobs'),
  settings: context.providerSettings,
  backendUrl: context.config.http.backendUrl,
  signingKey: 'unused',
  retentionDays: 1,
  isAlone: false,
});
const ORGS = 100;
const nobody = { userId: null, impersonatorId: null, ip: null };
const tenants = await Promise.all(
  Array.from({ length: ORGS }, async () => {
    const orgId = newId();
    await sql`insert into organizations (id, name) values (${orgId}, 'Bench')`;
    const { id } = await context.providerSettings.create(
      orgId,
      { domain: 'media', providerId: 'maker', credentials: { apiKey: 'a-key' } },
      nobody,
    );
    return { orgId, settingId: id };
  }),
);
let worker: AsyncDisposable | undefined;

answering({
  /** Rows of running jobs that fall due one after another from `inMs` on, within `withinMs`. Their longest rhythm is over. */
  async seed({ jobs, inMs, withinMs }: { jobs: number; inMs: number; withinMs: number }) {
    await sql`truncate media_jobs`;
    await sql`
      insert into media_jobs (id, org_id, operation, provider_id, provider_version, setting_id, own_setting, model,
        request, input_hash, reservation, is_export, state, attempt, submitted_at, sent_at, handle, tries, deadline_at, next_at)
      select gen_random_uuid(), (${tenants.map(({ orgId }) => orgId)}::uuid[])[1 + n % ${ORGS}::int], 'image', 'maker',
        'v1', (${tenants.map(({ settingId }) => settingId)}::uuid[])[1 + n % ${ORGS}::int], true, 'pixel-1',
        '{"prompt": "x", "sources": []}', '', gen_random_uuid(), false, 'running', 1, now(), now(),
        jsonb_build_object('job', n::text, 'model', 'pixel-1'), 100, now() + interval '1 day',
        now() + ${inMs}::float8 * interval '1 ms' + n * ${withinMs / jobs}::float8 * interval '1 ms'
      from generate_series(0, ${jobs - 1}::int) n`;
    await sql`analyze media_jobs`;
    const rows = await sql<{ job: string; at: number }[]>`
      select handle->>'job' as job, (extract(epoch from next_at) * 1000)::float8 as at from media_jobs`;
    return Object.fromEntries(rows.map(({ job, at }) => [job, at]));
  },
  start: () => void (worker = room.start()),
  async stop() {
    await worker?.[Symbol.asyncDispose]();
  },
  /** A result of so many MiB is copied into the library. */
  async copy({ mib }: { mib: number }) {
    const [{ orgId, settingId }] = tenants as [(typeof tenants)[number]];
    const id = newId();
    await sql`
      insert into media_jobs (id, org_id, operation, provider_id, provider_version, setting_id, own_setting, request,
        input_hash, reservation, is_export, state, attempt, submitted_at, outputs, settled_at, next_at)
      values (${id}, ${orgId}, 'video', 'maker', 'v1', ${settingId}, true, '{"prompt": "x", "sources": []}', '',
        ${newId()}, false, 'copying', 1, now(), ${sql.json([{ kind: 'video', url: `${url}/films/${mib}` }])}, now(),
        now())`;
    const running = room.start();
    const figures = await measured(async () => {
      await room.wait(orgId, id, { ms: 120_000 });
    });
    await running[Symbol.asyncDispose]();
    return figures;
  },
});

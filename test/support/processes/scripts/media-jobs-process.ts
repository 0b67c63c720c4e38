// A process of its own that works on media jobs, for tests that kill one: `node
// test/support/processes/scripts/media-jobs-process.ts <setup as JSON>`. It says `ready`, then works until it is killed.
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { openMediaJobs } from '../../../../src/studio/media-jobs/index.ts';
import { type JobsSetup, makerAdapters } from '../../worlds/studio/media-jobs.ts';
import { mediaApp } from '../../worlds/media.ts';

const { databaseUrl, folder, servers, leaseMs } = JSON.parse(process.argv[2]!) as JobsSetup;
const { context } = await mediaApp({
  sql: openDatabase({ url: databaseUrl }),
  folder,
  servers,
  adapters: makerAdapters(),
});
const room = openMediaJobs(
  {
    ...context,
    log: context.logs.of('media-jobs'),
    settings: context.providerSettings,
    backendUrl: context.config.http.backendUrl,
    signingKey: 'unused',
    retentionDays: 1,
    isAlone: false,
  },
  { leaseMs, restMs: 50 },
);
room.start();
process.stdout.write('ready\n');

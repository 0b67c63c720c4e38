import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mediaJobsWorld, type MediaJobsWorld, setProvider } from '../../support/worlds/studio/media-jobs.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';

// Copies of results whose server keeps whoever fetches them waiting.

let db: TestDatabase;
let world: MediaJobsWorld;
beforeAll(async () => {
  db = await testDatabase({ connections: 8 });
  world = await mediaJobsWorld({ db });
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});

/** Starts a job of an organization of its own; answers its id. */
async function begin(prompt: string, providerId: string): Promise<string> {
  const who = await world.app.signUp();
  await setProvider(who, providerId);
  return (await who.client.post('/files/generate-image', { prompt }, { prefer: 'respond-async' })).body.jobId as string;
}

test('results of a provider whose server hangs hold up those of no other provider', async () => {
  const { maker, app } = world;
  maker.plan('hangs', { results: ['hangs'] });
  const hanging: string[] = [];
  for (let n = 0; n < 9; n += 1) hanging.push(await begin('hangs', 'maker')); // more than there are places
  await using _worker = app.context.mediaJobs.start();
  try {
    await eventually('all of them are fetched, as far as they may be', async () => {
      const rows = await db.sql`select from media_jobs where state = 'copying'`;
      return rows.length === hanging.length && maker.held >= 4;
    });
    await world.comes(await begin('there', 'spare'), 'done');
    expect(maker.held).toBe(4);
  } finally {
    maker.release();
  }
  for (const id of hanging) await world.comes(id, 'done');
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startEmbeddedPostgres } from '../../../../src/platform/db/embedded/index.ts';
import { runRookery } from '../../../support/processes/scripts/rookery-process.ts';

let folder: string;
/** Where the files of its database really are. */
let place: string | undefined;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'rookery-own-'))));
afterAll(async () => {
  for (const path of [folder, place]) if (path !== undefined) await rm(path, { recursive: true, force: true });
});
const run = (command: string, at = folder) => runRookery([command], { JWT_SECRET: 'x'.repeat(40), DATA_FOLDER: at });

test('without DATABASE_URL migrate and reencrypt work on the database of DATA_FOLDER, whether its service runs or not', async () => {
  {
    await using running = await startEmbeddedPostgres({ folder: join(folder, 'postgres') });
    place = running.folder;
    expect(await run('migrate')).toEqual({ code: 0, said: expect.stringContaining('Applied: 000001') });
  }
  expect(await run('migrate')).toEqual({ code: 0, said: expect.stringContaining('Nothing to migrate') });
  expect(await run('reencrypt')).toEqual({ code: 0, said: expect.stringContaining('Finished') });
  for (const command of ['migrate', 'reencrypt'])
    expect(await run(command, join(folder, 'empty'))).toEqual({
      code: 1,
      said: expect.stringContaining('DATA_FOLDER has no database'),
    });
}, 300_000);

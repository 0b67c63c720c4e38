import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test } from '@jest/globals';
import { newId } from '../../src/platform/kernel/index.ts';
import { openCoEditing } from '../support/worlds/studio/co-editing.ts';

// examples/co-editing.mjs as a person types it.

const EXAMPLE = fileURLToPath(new URL('../../examples/co-editing.mjs', import.meta.url));
const world = await openCoEditing();
afterAll(world.close);
const { app, key } = world;

const run = (...args: string[]) =>
  promisify(execFile)(process.execPath, [EXAMPLE, ...args], { timeout: 60_000, env: { PATH: process.env['PATH'] } });

test('two clients of the example write one text, which the post has behind it', async () => {
  const id = await world.draft();
  const { stdout, stderr } = await run(app.address, key.key, id);
  expect(stderr).toBe('');
  const [document, saved] = stdout.split('\n');
  expect(document).toMatch(/<paragraph>Hello<\/paragraph>.*(Ann was here.*Bob|Bob.*Ann was here)/);
  expect(saved).toContain(await world.contentOf(id));
  expect(await world.contentOf(id)).toMatch(/^<p>Hello<\/p><p>.*<\/p><p>.*<\/p>$/);
  expect((await run(`${app.address}/api/`, key.key, id)).stdout).toContain('saved to post'); // below a prefix, as well
});

test('the example says why it cannot join, and ends', async () => {
  await expect(run(app.address, key.key, newId())).rejects.toMatchObject({
    stderr: expect.stringContaining('closed: 4404'),
  });
  await expect(run(app.address)).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('usage:') });
});

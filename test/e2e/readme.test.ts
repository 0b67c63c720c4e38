import { afterAll, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testDatabase } from '../support/wire/database.ts';
import { startEmbedded } from '../support/processes/service.ts';

// What the README tells a newcomer to type, typed as it stands.

const database = await testDatabase();
const folder = mkdtempSync(join(tmpdir(), 'rookery-readme-'));
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await database[Symbol.asyncDispose]();
});

test('the commands of the README publish a post on a newly started service, and another one when repeated [PO2, PO3]', async () => {
  await using service = await startEmbedded({ database });
  const commands = /```bash\n(URL=[^]*?)```/.exec(
    readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8'),
  )?.[1];
  const typed = commands!
    .replace('http://127.0.0.1:3000', service.url)
    .replace(
      'sleep 1',
      `until curl -s -H "Authorization: $KEY" $URL/public/v1/posts | grep -q PUBLISHED; do sleep 0.2; done`,
    );
  const posts = () => {
    const printed = execFileSync('bash', ['--norc', '-eo', 'pipefail', '-c', typed], {
      cwd: folder,
      encoding: 'utf8',
      timeout: 60_000,
      env: { PATH: process.env['PATH'] },
    });
    return (JSON.parse(printed.slice(printed.lastIndexOf('{"posts":'))) as { posts: unknown[] }).posts;
  };
  const published = expect.objectContaining({
    state: 'PUBLISHED',
    releaseURL: expect.stringContaining(service.sandboxUrl),
  });
  expect(posts()).toEqual([published]);
  expect(posts()).toHaveLength(2); // typed again, with the account and the channel that are there
}, 120_000);

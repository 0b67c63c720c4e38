import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { demo } from '../../../../src/operations/cli/demo.ts';
import { holdFile } from '../../../../src/platform/db/embedded/processes.ts';
import { testApp, WITH_MAIL } from '../../../support/worlds/app.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';

// The demo needs the sandbox network and an account that is open at once; an instance in production has neither by
// default.

let db: TestDatabase;
let folder: string;
const before = process.env['DATA_FOLDER'];
beforeAll(async () => {
  db = await testDatabase();
  folder = mkdtempSync(join(tmpdir(), 'rookery-demo-'));
  process.env['DATA_FOLDER'] = folder;
});
afterAll(async () => {
  if (before === undefined) delete process.env['DATA_FOLDER'];
  else process.env['DATA_FOLDER'] = before;
  rmSync(folder, { recursive: true, force: true });
  await db?.[Symbol.asyncDispose]();
});

async function said(address?: string): Promise<{ code: number; text: string }> {
  const lines: string[] = [];
  const code = await demo(address === undefined ? [] : [address], (line) => void lines.push(line));
  return { code, text: lines.join('\n') };
}

test('the demo command names the setting of a disabled sandbox and leaves no account', async () => {
  await using app = await testApp({ sql: db.sql, env: { SANDBOX_ENABLED: 'false' } });
  await app.signUp(); // whoever runs it
  const { code, text } = await said(app.address);
  expect([code, text]).toEqual([1, expect.stringContaining('SANDBOX_ENABLED=true')]);
  expect(text).toContain('is deleted again');
  expect((await db.sql`select from users where deleted_at is null and email like 'demo-%'`).count).toBe(0);
  expect(JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8'))).toEqual({});
});

test('the demo command finds the sandbox in the catalog when it is on', async () => {
  await using app = await testApp({ sql: db.sql, env: { SANDBOX_ENABLED: 'true' } });
  const { client } = await app.signUp();
  const { body } = await client.get('/providers/catalog?domain=social');
  expect(body.map(({ providerId }: { providerId: string }) => providerId)).toContain('sandbox');
});

test('the demo command says when an address needs confirmation by mail', async () => {
  await using app = await testApp({ sql: db.sql, env: WITH_MAIL });
  const { code, text } = await said(app.address);
  expect([code, text]).toEqual([1, expect.stringMatching(/confirmed by mail.*forgotten after seven days/)]);
  expect((await db.sql`select from users where activated and email like 'demo-%' and deleted_at is null`).count).toBe(
    0,
  );
});

test.each(['', 'cluster'])(
  'the demo command without an address finds the running service of its data folder (%j), whatever the port',
  async (within) => {
    const mark = join(folder, within, 'running.json');
    mkdirSync(join(folder, within), { recursive: true });
    await using hold = await holdFile(mark);
    await hold.update({ address: 'http://127.0.0.1:9' });
    expect((await said()).text).toContain('Rookery demo against http://127.0.0.1:9\n');
  },
);

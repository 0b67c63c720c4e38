import { expect, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startChatServer } from '../support/peers/chat-server.ts';
import { isFull } from '../support/processes/chaos.ts';
import { testApp } from '../support/worlds/app.ts';
import { testDatabase } from '../support/wire/database.ts';

// Processes that are killed between the reservation of a text, its call and its settlement: the ledger against what the
// provider charged.

const TEXTS = 10;
/** Of three processes each: 510 texts in all. */
const WAVES = isFull ? 17 : 1;
const TOGETHER = 4;
const FATES = ['die before the call', 'die during the call', 'die after the answer'];
const PROCESS = fileURLToPath(new URL('../support/processes/scripts/text-process.ts', import.meta.url));
const FATAL = 6;

test('each text is billed once, and the ledger is what the provider charged but for what is marked', async () => {
  await using db = await testDatabase({ connections: 4 });
  await using chat = await startChatServer();
  await using app = await testApp({ sql: db.sql });
  const ann = await app.signUp();
  const prices = JSON.stringify({ 'gpt-5.4-mini': { output: 1 } }); // a millionth for each token of an answer
  const setting = { domain: 'ai', providerId: 'openai', credentials: { apiKey: 'key' }, options: { prices } };
  expect((await ann.client.post('/providers/settings', setting)).status).toBe(201);

  const children = new Map<string, ChildProcess>();
  chat.before = async ({ body }) => {
    if (!JSON.stringify(body).includes('die during')) return;
    children.get('die during the call')!.kill('SIGKILL');
    await new Promise(() => {}); // its answer never comes
  };
  const { orgId, userId } = ann;
  const start = (fate: string) => {
    const contents = Array.from({ length: TEXTS }, (_, n) => (n === FATAL ? `Text ${n}: ${fate}` : `Text ${n}`));
    const settings = { databaseUrl: db.url, server: chat.url, orgId, userId, contents, together: TOGETHER };
    const child = spawn(process.execPath, [PROCESS, JSON.stringify(settings)], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    children.set(fate, child);
    return once(child, 'exit').then(([, signal]) => signal as unknown);
  };
  for (let wave = 0; wave < WAVES; wave += 1)
    expect(await Promise.all(FATES.map(start))).toEqual(['SIGKILL', 'SIGKILL', 'SIGKILL']);

  // nobody works on what is left: its time comes
  const [left] = await db.sql<{ calls: number }[]>`
    with lapsed as (update ai_reservations set until = now() - interval '1 second' returning 1)
    select count(*)::int as calls from lapsed`;
  expect(left!.calls).toBeGreaterThanOrEqual(WAVES * FATES.length);
  expect(left!.calls).toBeLessThanOrEqual(WAVES * TOGETHER * FATES.length);
  while ((await app.context.budget.settleLapsed(100)) > 0);

  const entries = await db.sql<{ ref: string; kind: string; micros: number; marked: boolean }[]>`
    select ref, kind, micros::float8, marked from ai_ledger`;
  const calls = Map.groupBy(entries, ({ ref }) => ref);
  for (const rows of calls.values())
    expect(rows.map(({ kind }) => kind).toSorted()).toEqual(['release', 'reservation', 'settlement']);

  const settled = entries.filter(({ kind }) => kind === 'settlement');
  const charged = chat.charged.map(({ tokens }) => tokens);
  const known = settled.filter(({ marked }) => !marked).map(({ micros }) => micros);
  const marked = settled.filter((one) => one.marked);
  expect(marked).toHaveLength(left!.calls);
  expect(new Set(known).size).toBe(known.length); // each charge has a number of its own
  expect(known.filter((micros) => !charged.includes(micros))).toEqual([]);
  expect(charged.length - known.length).toBeLessThanOrEqual(marked.length);
  expect(settled.length).toBe(known.length + marked.length);

  const sum = (list: readonly number[]) => list.reduce((all, one) => all + one, 0);
  const unmatched = sum(charged) - sum(known);
  expect(sum(marked.map(({ micros }) => micros))).toBeGreaterThanOrEqual(unmatched); // an estimate is the greatest cost
  const [balance] = await db.sql<{ spent: number; reserved: number }[]>`
    select spent::float8, reserved::float8 from ai_spend where domain = '' and period = 'month'`;
  expect(balance).toEqual({ spent: sum(entries.map(({ micros }) => micros)), reserved: 0 });
}, 600_000);

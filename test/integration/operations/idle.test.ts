import { expect, test } from '@jest/globals';
import { startActors } from '../../../actors/host/start.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { clockWhere, openPublishing } from '../../support/worlds/publishing.ts';

// What a process asks of the database when nobody asks anything of it. Its loops rest a twentieth of their time here. On
// a slow machine they come round less often, never more often.

const FASTER = 20;
const MINUTE = 60_000;
/**
 * The listener of facts looks 240 times, the heartbeat beats 60 times, each of six scans of the reconciler and the
 * reminders comes 12 times, the sweeps once.
 */
const MOST_A_MINUTE = 500;

test('a process that has nothing to do sends at most 500 statements a minute', async () => {
  await using db = await testDatabase();
  const statements: string[] = [];
  const clock = clockWhere((ms) => ms / FASTER);
  await using context = await openPublishing({ url: db.url, clock, onStatement: (text) => void statements.push(text) });
  await using _running = await startActors(context);
  await clock.sleep(MINUTE); // leases are taken, and every sweep has had its first round
  statements.length = 0;
  await clock.sleep(MINUTE);
  const kinds = Map.groupBy(statements, (text) => text.replaceAll(/\s+/g, ' ').slice(0, 120));
  const most = [...kinds].map(([text, all]) => `${all.length} ${text}`);
  expect(statements.length > MOST_A_MINUTE ? most : []).toEqual([]);
  expect(statements.length).toBeGreaterThan(0);
}, 60_000);

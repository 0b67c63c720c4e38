import { describe, expect, jest, test } from '@jest/globals';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Database, migrate, openDatabase } from '../../src/platform/db/index.ts';
import { systemClock } from '../../src/platform/kernel/index.ts';
import { note } from '../support/processes/chaos.ts';
import { createdId, postBody } from '../support/processes/client.ts';
import { violationsOf } from '../support/processes/history.ts';
import { engines } from '../support/processes/service.ts';
import { allSettled, type Channel, type Crowd, openCrowd } from '../support/processes/wave.ts';
import { testDatabase } from '../support/wire/database.ts';
import { waitingOnLock } from '../support/wire/database/waiting-on-lock.ts';
import { eventually, gate } from '../support/wire/eventually.ts';

jest.setTimeout(300_000);

/** What the next release changes, in each of the ways that a migration may. */
const NEXT = {
  '000901_column.sql': 'alter table posts add column upgrade_note text;',
  '000902_constant.sql': 'alter table posts add column upgrade_count int not null default 0;',
  '000903_column_of_channels.sql': 'alter table channels add column upgrade_note text;',
  '000904_table.sql': `create table upgrade_notes (
    id uuid primary key,
    org_id uuid not null references organizations on delete cascade,
    post_id uuid not null references posts on delete cascade
  );
  create index upgrade_notes_org on upgrade_notes (org_id);`,
  '000905_index.sql':
    '--! concurrently\ncreate index concurrently if not exists posts_upgrade on posts (org_id, upgrade_count);',
  '000906_check.sql': 'alter table posts add constraint posts_upgrade check (upgrade_count >= 0) not valid;',
  '000907_validated.sql': 'alter table posts validate constraint posts_upgrade;',
  '000908_index_gone.sql': '--! concurrently\ndrop index concurrently if exists posts_upgrade;',
};
/** Requests that the old version answers while the next one does not get its lock, and once more when it is there. */
const MEANWHILE = 60;

async function nextRelease(): Promise<{ dir: URL } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), 'next-release-'));
  await cp(join(import.meta.dirname, '../../src/platform/db/migrations'), folder, { recursive: true });
  for (const [file, text] of Object.entries(NEXT)) await writeFile(join(folder, file), text);
  return {
    dir: pathToFileURL(`${folder}/`),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

interface Answer {
  what: 'create' | 'edit' | 'list';
  status: number;
}
/** Creates posts that fall due soon, edits and lists, for each of these channels one request after another. */
function startLoad(crowd: Crowd, channels: readonly Channel[]) {
  const answers: Answer[] = [];
  let isOver = false;
  const work = async (channel: Channel) => {
    const { client, id } = channel;
    const later = await client.ask('/public/v1/posts', {
      body: postBody({ channelId: id, date: systemClock.in(86_400_000), content: '<p>Later</p>' }),
    });
    const tell = (what: Answer['what'], asked: Promise<{ status: number }>) =>
      asked.then(
        ({ status }) => answers.push({ what, status }),
        () => answers.push({ what, status: 0 }),
      );
    for (let n = 0; !isOver; n += 1) {
      const due = systemClock.in(1_500);
      await tell(
        'create',
        crowd.post([{ channel, due }]).then(([one]) => one!),
      );
      await tell(
        'edit',
        client.ask(`/public/v1/posts/${createdId(later)}`, { method: 'PUT', body: { content: `<p>Edit ${n}</p>` } }),
      );
      await tell('list', client.ask('/public/v1/posts?limit=20'));
    }
  };
  const working = Promise.all(channels.map(work));
  return {
    answers,
    async [Symbol.asyncDispose]() {
      isOver = true;
      await working;
    },
  };
}

/** A transaction that has read posts and does not end, such as a backup, until it is disposed of. */
async function startReader(url: string) {
  const sql = openDatabase({ url, connections: 1, applicationName: 'backup' });
  const [begun, end] = [gate(), gate()];
  const ended = sql.begin(async (tx) => {
    await tx`select from posts limit 1`;
    begun.open();
    await end.passed;
  });
  await Promise.race([begun.passed, ended]);
  return {
    async [Symbol.asyncDispose]() {
      end.open();
      await ended;
      await sql.end({ timeout: 1 });
    },
  };
}

/** The longest time that sessions of the product are seen to wait for a table, and for a row. */
function watchWaits(sql: Database) {
  const longestMs = { table: 0, row: 0 };
  let isOver = false;
  const watch = async () => {
    while (!isOver) {
      const [row] = await sql<{ table: number; row: number }[]>`
        select coalesce(max(ms) filter (where locktype = 'relation'), 0)::int as table,
          coalesce(max(ms) filter (where locktype <> 'relation'), 0)::int as row
        from pg_locks l
        join pg_stat_activity a using (pid)
        cross join lateral (select extract(epoch from clock_timestamp() - l.waitstart) * 1000) w (ms)
        where not l.granted and a.application_name = 'rookery' and a.datname = current_database()`;
      longestMs.table = Math.max(longestMs.table, row!.table);
      longestMs.row = Math.max(longestMs.row, row!.row);
      await systemClock.sleep(10);
    }
  };
  const watching = watch();
  return {
    longestMs,
    async [Symbol.asyncDispose]() {
      isOver = true;
      await watching;
    },
  };
}

describe.each(engines)('an upgrade on the $name engine', ({ name, missing, start }) => {
  (missing === undefined ? test : test.skip)(
    `each kind of migration is applied while the old version serves and another session keeps a table, without an error, and every post is out once [R20]${missing ? ` [skipped: ${missing}]` : ''}`,
    async () => {
      await using database = await testDatabase({ connections: 6 });
      await using service = await start({ database });
      await using crowd = await openCrowd(service.url, { orgs: 3, channels: 6 });
      await using release = await nextRelease();
      await using next = Object.assign(
        openDatabase({ url: database.url, connections: 2, applicationName: 'rookery-migrate' }),
        { [Symbol.asyncDispose]: () => next.end({ timeout: 1 }) },
      );
      const waits: string[] = [];
      const longestMs = { table: 0, row: 0 };
      const answers: Answer[] = [];
      {
        await using load = startLoad(crowd, crowd.channels);
        await using watch = watchWaits(database.sql);
        const goesOn = async (what: string) => {
          const before = load.answers.length;
          await eventually(what, () => load.answers.length >= before + MEANWHILE);
        };
        await goesOn('the old version serves');

        let migrated: Promise<string[]>;
        {
          await using _ = await startReader(database.url);
          migrated = migrate(next, {
            dir: release.dir,
            tries: 1_000,
            onWait: ({ migration }) => waits.push(migration),
          });
          migrated.catch(() => {}); // told below
          await eventually(
            'the migration waits',
            async () => (await waitingOnLock(database.sql, 'alter table posts')) === 1,
          );
          await goesOn('the old version serves while the migration does not get its lock');
          await eventually('the migration was given up', () => waits.length > 0);
        }
        expect(await migrated).toEqual(Object.keys(NEXT));
        await goesOn('the old version serves on the schema of the next one');
        Object.assign(longestMs, watch.longestMs);
        answers.push(...load.answers);
      }
      expect(waits[0]).toBe('000901_column.sql');
      expect(answers.filter(({ status }) => status < 200 || status > 299)).toEqual([]);

      await allSettled(database.sql);
      const history = await crowd.history(database.sql);
      expect(violationsOf(history)).toEqual([]);
      const out = history.posts.filter(({ state }) => state === 'PUBLISHED');
      expect(out).toHaveLength(crowd.created.length);
      expect(history.ledger.filter(({ accepted }) => accepted)).toHaveLength(crowd.created.length);
      note({
        goal: 'R20',
        engine: name,
        answers: answers.length,
        posts: out.length,
        givenUp: waits.length,
        longestWaitMs: longestMs,
      });
    },
  );
});

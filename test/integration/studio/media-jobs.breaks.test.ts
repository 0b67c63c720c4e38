import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Sql } from '../../../src/platform/db/index.ts';
import type { SignedUp } from '../../support/worlds/app.ts';
import { inlineResults, type Maker, type Plan } from '../../support/worlds/studio/media-maker.ts';
import { mediaJobsWorld, type MediaJobsWorld, setProvider } from '../../support/worlds/studio/media-jobs.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { eventually, gate } from '../../support/wire/eventually.ts';
import { endWaitingFor } from '../../support/wire/database/waiting-on-lock.ts';
import { clockWhere } from '../../support/worlds/publishing/world.ts';

// Jobs whose steps meet a database that is away, somebody who cancels, and what nobody foresaw.

let db: TestDatabase;
let world: MediaJobsWorld;
let maker: Maker;
beforeAll(async () => {
  db = await testDatabase({ connections: 8 });
  world = await mediaJobsWorld({ db });
  ({ maker } = world);
});
const workers: AsyncDisposable[] = [];
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker[Symbol.asyncDispose]();
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});

const work = () => void workers.push(world.app.context.mediaJobs.start());
let prompts = 0;
/** Starts a job of somebody who has this provider alone, without waiting. */
async function begin(plan: Plan, providerId = 'maker') {
  const who = await world.app.signUp();
  await setProvider(who, providerId);
  const prompt = `prompt ${(prompts += 1)}`;
  maker.plan(prompt, plan);
  const { body } = await who.client.post('/files/generate-image', { prompt }, { prefer: 'respond-async' });
  return { id: body.jobId as string, prompt, who };
}
const files = async (id: string, { client }: SignedUp) => (await client.get(`/files/jobs/${id}`)).body.result?.length;
const kinds = async (id: string) => (await world.ledger(id)).map(({ kind }) => kind);
const told = async (id: string) => (await world.facts(id)).map(({ payload }) => payload.state);
/** Whether nobody has the job in hand, and its step has failed. */
async function isPut(id: string): Promise<boolean> {
  const { incarnation, tries } = await world.row(id);
  return incarnation === null && tries > 0;
}
/** The database refuses this job in this state until the answer is disposed of. */
async function refuse(id: string, state: string): Promise<AsyncDisposable> {
  await db.sql.unsafe(`alter table media_jobs add constraint refuses check (id <> '${id}' or state <> '${state}')`);
  return { [Symbol.asyncDispose]: async () => void (await db.sql`alter table media_jobs drop constraint refuses`) };
}

describe('a result that comes with the answer', () => {
  /** Ends the connection of whoever waits for this lock, as if the server were away for a moment. */
  async function awayWhile(lock: (tx: Sql) => Promise<unknown>): Promise<void> {
    await db.sql.begin(async (tx) => {
      await lock(tx);
      work();
      await endWaitingFor(tx, db.sql);
    });
  }

  test.each([
    ['more than a number of the database', 1e30, 40_000],
    ['more than a thousand times its estimate', 40_000_001, 40_000],
    ['a part of a millionth', 0.5, 1],
    ['less than nothing', -5, 40_000],
  ])('costs what makes sense where the provider states %s', async (_what, micros, counted) => {
    work();
    const { id } = await begin({ results: ['inline'], micros });
    await world.comes(id, 'done');
    expect(Number((await world.row(id))['cost_micros'])).toBe(counted);
    expect((await world.ledger(id)).at(-1)).toMatchObject({ kind: 'settlement', micros: counted });
  });

  test('is kept though the database is away when it comes, since it is paid for and lies nowhere else', async () => {
    const { id, prompt, who } = await begin({ submit: 'at-once', results: ['inline'], micros: 9_000 }, 'blind');
    const { reservation } = await world.row(id);
    await awayWhile((tx) => tx`select from ai_reservations where ref = ${reservation} for update`);
    await world.comes(id, 'done');
    expect([maker.submits(prompt), await files(id, who), inlineResults.size]).toEqual([1, 1, 0]);
    expect((await world.ledger(id)).at(-1)).toEqual({ kind: 'settlement', micros: 9_000, marked: false });
  });

  test('is kept though the database is away when it is copied', async () => {
    const { id, prompt, who } = await begin({ submit: 'at-once', results: ['inline'] }, 'blind');
    await awayWhile((tx) => tx`lock table files in share mode`);
    await world.comes(id, 'done');
    expect([maker.submits(prompt), await files(id, who), inlineResults.size]).toEqual([1, 1, 0]);
  });

  test('is kept though its first copy fails in a way that may pass', async () => {
    await db.sql.unsafe(`
      create sequence copies;
      create function fail_once() returns trigger language plpgsql as $$
        begin if nextval('copies') = 1 then raise exception 'cut off'; end if; return new; end $$;
      create trigger fail_once before insert on files for each row execute function fail_once()`);
    try {
      const { id, prompt, who } = await begin({ submit: 'at-once', results: ['inline'] }, 'blind');
      work();
      await world.comes(id, 'done');
      expect([maker.submits(prompt), await files(id, who), inlineResults.size]).toEqual([1, 1, 0]);
    } finally {
      await db.sql.unsafe('drop trigger fail_once on files; drop function fail_once; drop sequence copies');
    }
  });

  test('leaves its place to other copies while its next try is waited for', async () => {
    const pause = gate();
    let isPaused = true; // the waits of others, which may be as long, go by the clock again afterwards
    const goOn = () => {
      isPaused = false;
      pause.open();
    };
    await using other = await world.open({
      clock: clockWhere((ms) => (isPaused && ms === 5_000 ? pause.passed : ms)),
    });
    await db.sql.unsafe(`
      create sequence copies;
      create function fail_four() returns trigger language plpgsql as $$
        begin if nextval('copies') <= 4 then raise exception 'cut off'; end if; return new; end $$;
      create trigger fail_four before insert on files for each row execute function fail_four()`);
    await using _worker = other.context.mediaJobs.start();
    try {
      const who = await world.app.signUp();
      await setProvider(who, 'blind');
      const make = async () => {
        const prompt = `prompt ${(prompts += 1)}`;
        maker.plan(prompt, { submit: 'at-once', results: ['inline'] });
        const { body } = await who.client.post('/files/generate-image', { prompt }, { prefer: 'respond-async' });
        return body.jobId as string;
      };
      const failed = await Promise.all([make(), make(), make(), make()]); // all the places of one organization
      await eventually('four copies have failed', async () => {
        const [row] = await db.sql`select last_value::int as n from copies`;
        return row!['n'] === 4;
      });
      await world.comes(await make(), 'done');
      goOn();
      for (const id of failed) await world.comes(id, 'done');
    } finally {
      goOn();
      await db.sql.unsafe('drop trigger fail_four on files; drop function fail_four; drop sequence copies');
    }
  });

  test('is discarded when nothing can be written of it', async () => {
    const { id } = await begin({ submit: 'at-once', results: ['inline'] }, 'blind');
    {
      await using _refused = await refuse(id, 'copying');
      work();
      await world.comes(id, 'unknown');
    }
    expect(inlineResults.size).toBe(0);
  });
});

test('a transcription with NUL and half a sign is kept, since it is paid for', async () => {
  work();
  const { id, who } = await begin({ segments: [{ from: 0, to: 1, text: 'Good\0 \ud83d morning' }] });
  await world.comes(id, 'done');
  const { result } = (await who.client.get(`/files/jobs/${id}`)).body;
  expect(result).toHaveLength(3); // the picture, and the captions in both forms
  expect((await who.client.get(new URL(result[2].path).pathname)).text).toContain('Good \ufffd morning');
});

describe('a step that breaks in a way that nobody foresaw', () => {
  test('is made again, and fails the job in the end with its money given back, where its submit has not left', async () => {
    const { id, prompt } = await begin({});
    await db.sql`update media_jobs set request = '{}' where id = ${id}`;
    work();
    await eventually('it waits to be made again', () => isPut(id));
    expect(await world.row(id)).toMatchObject({ state: 'queued', tries: 1, attempt: 1 });
    await db.sql`update media_jobs set tries = 9, next_at = now() where id = ${id}`;
    await world.comes(id, 'failed');
    expect(await world.row(id)).toMatchObject({ error_code: 'internal', error: 'Something went wrong on our side' });
    expect([maker.submits(prompt), await kinds(id), await told(id)]).toEqual([
      0,
      ['reservation', 'release'],
      ['failed'],
    ]);
  });

  test('is looked up no more often than one that is not found', async () => {
    const { id, prompt } = await begin({});
    await using _refused = await refuse(id, 'running');
    work();
    await eventually('it waits to be looked up again', () => isPut(id));
    await db.sql`update media_jobs set tries = 3, next_at = now() where id = ${id}`;
    await world.comes(id, 'unknown');
    expect([maker.submits(prompt), await kinds(id)]).toEqual([1, ['reservation']]);
  });

  test('is polled until the time of its provider is over', async () => {
    const { id } = await begin({});
    {
      await using _refused = await refuse(id, 'copying');
      work();
      await eventually('it waits to be polled again', () => isPut(id));
      expect((await world.row(id))['state']).toBe('running');
      await db.sql`update media_jobs set deadline_at = now(), next_at = now() where id = ${id}`;
      await world.comes(id, 'failed');
    }
    expect((await world.ledger(id)).at(-1)).toEqual({ kind: 'settlement', micros: 40_000, marked: true });
  });
});

describe('a job that is cancelled while its submit has not left', () => {
  test('is not submitted by whoever takes it up, and costs nothing', async () => {
    const { id, prompt, who } = await begin({});
    // as its process left it: claimed for the submit, and gone
    await db.sql`
      update media_jobs
      set submitted_at = now(), attempt = 1, claim = 1, incarnation = 'gone', next_at = now() + interval '1 hour'
      where id = ${id}`;
    expect((await who.client.delete(`/files/jobs/${id}`)).status).toBe(200);
    await world.loses(id);
    work();
    await world.comes(id, 'cancelled');
    expect([maker.submits(prompt), await kinds(id)]).toEqual([0, ['reservation', 'release']]);
  });

  test('is not submitted by whoever has it in hand', async () => {
    const { id, prompt, who } = await begin({});
    await db.sql.begin(async (tx) => {
      await tx`lock table provider_settings in access exclusive mode`;
      const [own] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
      work();
      await eventually('the submit waits for its key', async () => {
        const rows = await db.sql`select from pg_stat_activity where ${own!.pid} = any(pg_blocking_pids(pid))`;
        return rows.length > 0 && (await world.row(id))['submitted_at'] !== null;
      });
      expect((await who.client.delete(`/files/jobs/${id}`)).status).toBe(200);
    });
    await world.comes(id, 'cancelled');
    expect([maker.submits(prompt), await kinds(id)]).toEqual([0, ['reservation', 'release']]);
  });
});

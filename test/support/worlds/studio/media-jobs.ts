import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestDatabase } from '../../wire/database.ts';
import { eventually } from '../../wire/eventually.ts';
import type { SignedUp, testApp } from '../app.ts';
import { MAKER_PRICES, type Maker, makerAdapter, startMaker } from './media-maker.ts';
import { mediaApp } from '../media.ts';

const IDS = ['maker', 'blind', 'spare', 'slow'];

/** `maker`; `blind`, which cannot be looked up; `spare`; and `slow`, which is asked once an hour. */
export const makerAdapters = () => [
  makerAdapter('maker'),
  makerAdapter('blind', { find: false, cancel: false }),
  makerAdapter('spare'),
  makerAdapter('slow', { rhythm: { everyMs: 3_600_000, mostMs: 7_200_000 } }),
];

/** What a process of its own needs to work on the jobs of a world. */
export interface JobsSetup {
  databaseUrl: string;
  folder: string;
  servers: Readonly<Record<string, string>>;
  leaseMs: number;
}

/** The product with providers of media on the wire. */
export async function mediaJobsWorld({ db }: { db: TestDatabase }) {
  await using opened = new AsyncDisposableStack();
  const maker = opened.use(await startMaker(IDS));
  const folder = await mkdtemp(join(tmpdir(), 'rookery-media-jobs-'));
  opened.defer(() => rm(folder, { recursive: true }));
  const adapters = makerAdapters();
  const { sql } = db;

  /** One more process of the product. */
  const open = (more: Partial<Parameters<typeof testApp>[0]> = {}) =>
    mediaApp({ sql, folder, servers: maker.servers, adapters, ...more });
  const app = opened.use(await open());
  const end = opened.move();

  return {
    maker,
    app,
    open,
    folder,
    row: async (id: string) => (await sql`select * from media_jobs where id = ${id}`)[0]!,
    /** Waits until the row of a job says so. */
    comes: (id: string, state: string) =>
      eventually(`job ${id} is ${state}`, async () => {
        const [row] = await sql`select state from media_jobs where id = ${id}`;
        return row?.['state'] === state;
      }),
    /** The ledger of one reservation, oldest first. */
    ledger: (id: string) => sql<{ kind: string; micros: number; marked: boolean }[]>`
      select l.kind, l.micros::float8 as micros, l.marked
      from ai_ledger l
      join media_jobs j on j.reservation = l.ref
      where j.id = ${id}
      order by array_position('{reservation,release,settlement,correction}', l.kind)`,
    facts: (id: string) => sql`select payload from outbox where topic = 'media.job_ended' and entity_id = ${id}`,
    /** The lease of whoever works on a job is over, as if its process were gone. */
    loses: (id: string) => sql`update media_jobs set next_at = now() where id = ${id}`,
    [Symbol.asyncDispose]: () => end.disposeAsync(),
  };
}
export type MediaJobsWorld = Awaited<ReturnType<typeof mediaJobsWorld>>;

/** Sets the key of a provider for an organization; answers the id of the setting. */
export async function setProvider({ client }: SignedUp, providerId: string, options: object = {}): Promise<string> {
  const answer = await client.post('/providers/settings', {
    domain: 'media',
    providerId,
    credentials: { apiKey: 'a-key-of-the-maker' },
    options: { prices: JSON.stringify(MAKER_PRICES), ...options },
  });
  if (answer.status !== 201) throw new Error(`The setting was refused: ${answer.text}`);
  return answer.body.id as string;
}
export type { Maker };

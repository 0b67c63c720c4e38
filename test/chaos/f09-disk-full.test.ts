import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { startEmbeddedPostgres } from '../../src/platform/db/embedded/index.ts';
import { systemClock } from '../../src/platform/kernel/index.ts';
import { isFull, note, rounds } from '../support/processes/chaos.ts';
import { violationsOf } from '../support/processes/history.ts';
import { unjudgedIn } from '../support/processes/history/matter.ts';
import { enginesAtDepth, startEmbedded } from '../support/processes/service.ts';
import { diskMissing, smallDisk } from '../support/processes/small-disk.ts';
import { acceptedCount, comes, outOf, waveOf } from '../support/processes/wave.ts';
import { startThirdParties } from '../support/processes/third-parties/start.ts';
import { openWholeCrowd, settlesAlone } from '../support/processes/wave-fault.ts';
import { editSome, limitTo, mixed } from '../support/processes/wave-mix.ts';
import { disposableDatabase, testDatabase } from '../support/wire/database.ts';
import { HEADS, picture } from '../support/worlds/samples.ts';

// F9: disks are full in the middle of a wave, and have room again.

const POSTS = isFull ? 2_000 : 100;
const FULL_MS = isFull ? 30_000 : 4_000;
/** Posts fall due while the disk is full. */
const OVER_MS = FULL_MS + 2_000;
/** Uploads that are refused, each with more than 300 bytes in the log: its disk has room for 4,096 at most. */
const REFUSED = 20;
const LATENCY_MS = 50;
const CREATE_MS = 20;
const MIB = 1_048_576;

const withDisk = diskMissing === undefined ? test : test.skip;
const skipped = diskMissing === undefined ? '' : ` [skipped: ${diskMissing}]`;
const Uploaded = z.object({ id: z.string(), path: z.string() });
const film = (bytes: number) => [HEADS['mp4']!, Buffer.alloc(bytes)];

withDisk.each(rounds(4))(
  `round $round of $of: uploads and the log find their disks full: uploads are refused in words, and every post is out once [I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I12]${skipped}`,
  async ({ round }) => {
    using uploads = smallDisk(8);
    using logs = smallDisk(8);
    const output = join(logs.folder, 'rookery.log');
    await using database = await testDatabase();
    await using thirdParties = await startThirdParties();
    await using service = await startEmbedded({
      database,
      output,
      env: { ...thirdParties.env, UPLOAD_FOLDER: join(uploads.folder, 'uploads') },
    });
    const size = { orgs: 5, channels: POSTS / 10 };
    await using crowd = await openWholeCrowd(service, database.sql, thirdParties, size);
    const [channel] = crowd.channels;
    const { client } = channel!;
    const png = await picture(20, 20);
    const kept = await client.upload([png]);
    expect(kept.status).toBe(201);
    const image = Uploaded.parse(kept.body);

    const from = systemClock.in(3_000 + POSTS * CREATE_MS);
    const wanted = [
      ...mixed(waveOf(crowd.channels, POSTS, from, { latencyMs: LATENCY_MS }, OVER_MS), crowd),
      { channel: channel!, due: new Date(from.getTime() + OVER_MS / 2), image: [{ ...image, alt: '' }] },
    ];
    await limitTo(database.sql, crowd, wanted);
    const posts = await crowd.post(wanted);
    expect(crowd.created.filter(({ status }) => status !== 201)).toEqual([]);
    expect(await comes(async () => (await acceptedCount(database.sql)) > 0, 120_000)).toBe(true);

    for (const disk of [uploads, logs]) disk.fill();
    thirdParties.begin(service.url);
    for (let n = 0; n < REFUSED; n++)
      expect(await client.upload(film(64 * 1_024))).toMatchObject({
        status: 503,
        body: { code: 'unavailable', message: 'The disk for uploads is full: nothing was kept' },
      });
    const tooMany = crowd.channels.map((one) => ({ channel: one, due: systemClock.in(FULL_MS) }));
    const [refused] = await Promise.all([
      crowd.post(tooMany),
      editSome(crowd, { now: posts, later: posts }),
      crowd.askForCanary(),
      sleep(FULL_MS),
    ]);
    expect(refused.filter(({ status }) => status !== 402)).toEqual([]);
    const { pathname } = new URL(image.path);
    const read = await fetch(service.url + pathname);
    expect([read.status, Buffer.from(await read.arrayBuffer())]).toEqual([200, png]);
    for (const disk of [uploads, logs]) disk.empty();
    expect((await client.upload(film(MIB))).status).toBe(201);

    const { engine, hosts } = service;
    const lastWords = () => readFileSync(output, 'utf8').slice(-5_000);
    const settledAfterMs = await settlesAlone({ engine, hosts, lastWords }, database.sql, crowd);
    await thirdParties.end();
    note({ round, posts: crowd.created.length, settledAfterMs });
    const history = await crowd.history(database.sql);
    expect([violationsOf(history), unjudgedIn(history)]).toEqual([[], []]);
    expect(outOf(history)).toEqual({ published: POSTS + 1, accepted: POSTS + 1 });

    // what was said meanwhile is lost, what is said now is read again
    const linesOfFailures = readFileSync(output, 'utf8').split('the disk of the uploads failed').length - 1;
    expect(linesOfFailures).toBeLessThan(REFUSED);
    const { ms: _, ...exit } = await service.end(0);
    expect(exit).toEqual({ code: 0, signal: null });
    expect(readFileSync(output, 'utf8')).toContain('SIGTERM: ending');
  },
  600_000,
);

/** A text that no compression makes smaller, near the limit of the network. */
const long = () => `<p>${randomBytes(4_500).toString('hex')}</p>`;

describe.each(enginesAtDepth)('the disk of Postgres, on the $name engine', ({ name, missing, start }) => {
  (diskMissing === undefined && missing === undefined ? test : test.skip).each(rounds(4))(
    `round $round of $of: Postgres finds its disk full: creates are refused in words, and every post is out once [I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I12]${skipped || (missing ? ` [skipped: ${missing}]` : '')}`,
    async ({ round }) => {
      using disk = smallDisk(256);
      await using ledger = await testDatabase();
      await using postgres = await startEmbeddedPostgres({
        folder: join(disk.folder, 'postgres'),
        revive: true, // as `npm start` has it: a server that cannot write its log ends
        settings: { max_connections: '100', min_wal_size: '32MB', max_wal_size: '64MB' },
      });
      await using thirdParties = await startThirdParties();
      await using service = await start({ database: postgres, ledger, env: thirdParties.env });
      await using sql = disposableDatabase(postgres.url);
      await using crowd = await openWholeCrowd(service, sql, thirdParties, { orgs: 5, channels: POSTS / 10 });
      const [filler] = crowd.channels;
      const from = systemClock.in(3_000 + POSTS * CREATE_MS);
      const wanted = mixed(waveOf(crowd.channels, POSTS, from, { latencyMs: LATENCY_MS }, OVER_MS), crowd);
      // but of those who fill the disk
      const limited = wanted.filter(({ channel }) => channel.client !== filler!.client);
      await limitTo(sql, crowd, limited);
      const posts = await crowd.post(wanted);
      expect(crowd.created.filter(({ status }) => status !== 201)).toEqual([]);
      expect(await comes(async () => (await acceptedCount(ledger.sql)) > 0, 120_000)).toBe(true);

      // the log of Postgres has 16 MB ahead of it: without room for its next piece the server ends
      await sql`select pg_switch_wal()`;
      await sql`select pg_logical_emit_message(true, 'begins', 'the new piece')`;
      disk.fill();
      // until the room that tables have within them is used up, too
      const isRefused = async () => {
        const [one] = await crowd.post([
          { channel: filler!, due: systemClock.in(FULL_MS), content: long(), latencyMs: LATENCY_MS },
        ]);
        return one!.said!.includes('The database has no room left');
      };
      expect(await comes(isRefused, 60_000)).toBe(true);
      const underWay = Promise.all([editSome(crowd, { now: posts, later: posts }), crowd.askForCanary()]);
      thirdParties.begin(service.url);
      await sleep(FULL_MS);
      disk.empty();

      const settledAfterMs = await settlesAlone(service, sql, crowd);
      await underWay;
      await thirdParties.end();
      const refused = crowd.created.filter(({ status }) => status !== 201);
      const channels = new Map(limited.map(({ channel }) => [channel.id, channel]));
      const tooMany = await crowd.post(
        [...channels.values()].map((channel) => ({ channel, due: systemClock.in(FULL_MS) })),
      );
      expect(tooMany.filter(({ status }) => status !== 402)).toEqual([]);
      note({
        round,
        engine: name,
        posts: crowd.created.length,
        refused: refused.map(({ said }) => said),
        settledAfterMs,
      });
      expect(service.hosts.filter((host) => host.exit())).toEqual([]);
      for (const { status, said } of refused) {
        expect([status, said]).toEqual([
          503,
          expect.stringMatching(/The database (has no room left|cannot be reached)/),
        ]);
        expect(JSON.parse(said!)).toMatchObject({ code: 'unavailable' });
      }
      expect(service.lastWords(10_000)).toContain('No space left on device');

      const history = await crowd.history(sql, ledger.sql);
      // of a server that has ended nobody knows whether it took them
      const created = history.created.map((one) => (one.status === 503 ? { ...one, status: 0 } : one));
      expect([violationsOf({ ...history, created }), unjudgedIn(history)]).toEqual([[], []]);
      const { published, accepted } = outOf(history);
      expect(published).toBe(accepted);
      // all of them have come to an end, but the next ones of series
      expect(history.posts.filter(({ state }) => state !== 'PUBLISHED' && state !== 'QUEUE')).toEqual([]);
    },
    600_000,
  );
});

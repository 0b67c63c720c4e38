import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { startUploadServer, type UploadServer } from '../../../../../test/support/peers/upload-server.ts';
import { systemClock } from '../../../../platform/kernel/index.ts';
import { openOutbound, type Outbound } from '../../../../platform/outbound/index.ts';
import { openHttp } from '../../wire/open-http.ts';
import { contentRangeChunks, contentRanges, offsetHeader } from './session-forms.ts';
import { askSession, finishSession, type SessionProtocol, uploadSession } from './session.ts';

const SIZE = 1_000_000;
const RANGE = 300_000;
const BYTES = Buffer.from(Array.from({ length: SIZE }, (_, n) => (n * 7 + (n >> 8)) % 256));
let outbound: Outbound;
let server: UploadServer;
beforeAll(() => void (outbound = openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: ['127.0.0.1/32'] })));
afterAll(async () => await outbound[Symbol.asyncDispose]());
beforeEach(async () => void (server = await startUploadServer(SIZE)));
afterEach(() => server[Symbol.asyncDispose]());

/** One process: its line, and the file with the ranges that were read of it. */
function instance() {
  const waits: number[] = [];
  const clock = { ...systemClock, sleep: async (ms: number) => void waits.push(ms) };
  const http = openHttp({ manifest: { title: 'Demo', api: server.url }, outbound, clock, values: {}, secrets: [] });
  const reads: [from: number, to: number][] = [];
  const file = {
    name: 'a.mp4',
    contentType: 'video/mp4',
    size: SIZE,
    async *read(from: number, to: number) {
      reads.push([from, to]);
      for (let at = from; at < to; at += 50_000) yield BYTES.subarray(at, Math.min(at + 50_000, to));
    },
  };
  const location = z
    .object({ headers: z.object({ location: z.string() }) })
    .transform(({ headers }) => headers.location);
  const begin = (dialect: string) => () => http.post(`/${dialect}`, location, { replyHeaders: ['location'] });
  const offset = {
    ask: (path: string) => ({ method: 'get', path }) as const,
    offset: z.object({ received: z.int() }).transform(({ received }) => received),
  };
  const protocols: Record<string, SessionProtocol<unknown>> = {
    ranges: contentRanges({ begin: begin('ranges'), rangeBytes: RANGE, result: z.object({ id: z.string() }) }),
    chunks: contentRangeChunks({ begin: begin('chunks'), rangeBytes: RANGE, longLast: true, ...offset }),
    offset: offsetHeader({ begin: begin('offset'), name: 'file_offset', ...offset }),
  };
  return { line: { http, clock, timeoutMs: 20_000 }, file, reads, waits, protocols };
}
function store(saved?: unknown) {
  const kept = { saved, save: async (handle: unknown) => void (kept.saved = JSON.parse(JSON.stringify(handle))) };
  return kept;
}
const whole = (dialect: string) =>
  dialect === 'ranges' ? { received: SIZE, result: { id: 'video-1' } } : { received: SIZE };

describe.each(['ranges', 'chunks', 'offset'])('an upload by %s', (dialect) => {
  test('reads each byte once when nothing fails', async () => {
    const { line, file, reads, waits, protocols } = instance();
    expect(await uploadSession(line, protocols[dialect]!, file, store())).toEqual(whole(dialect));
    expect(server.sessions.at(-1)!.bytes.equals(BYTES)).toBe(true);
    const ends = {
      ranges: [0, RANGE, 2 * RANGE, 3 * RANGE, SIZE],
      chunks: [0, RANGE, 2 * RANGE, SIZE],
      offset: [0, SIZE],
    };
    const [first, ...others] = ends[dialect as keyof typeof ends];
    expect(reads).toEqual(others.map((to, n) => [[first!, ...others][n], to]));
    expect(waits).toEqual([]);
  });

  test.each([1, 450_000, SIZE - 1])('goes on where the server is after a cut at byte %i', async (cut) => {
    const { line, file, reads, protocols } = instance();
    server.cuts.push(cut);
    expect(await uploadSession(line, protocols[dialect]!, file, store())).toEqual(whole(dialect));
    expect(server.sessions).toHaveLength(1);
    expect(server.sessions[0]!.bytes.equals(BYTES)).toBe(true);
    expect(server.faults).toEqual([]);
    const at = reads.findIndex(([from]) => from === cut);
    expect(reads.slice(0, at).every(([from]) => from < cut)).toBe(true);
    expect(reads.slice(at).every(([from]) => from >= cut)).toBe(true);
  });

  test('asks after the answer to its last byte was lost', async () => {
    const { line, file, reads, protocols } = instance();
    server.settings.dropLastAnswer = true;
    expect(await uploadSession(line, protocols[dialect]!, file, store())).toEqual(whole(dialect));
    expect(reads.reduce((sum, [from, to]) => sum + to - from, 0)).toBe(SIZE);
  });

  test('goes on in another process from what the first one saved', async () => {
    const kept = store();
    const dying = instance();
    server.cuts.push(400_000, 400_001, 400_002, 400_003, 400_004);
    let cuts = 0;
    const death = new Error('killed');
    const clock = {
      ...dying.line.clock,
      sleep: async () => {
        if ((cuts += 1) === 1) throw death;
      },
    };
    const first = uploadSession({ ...dying.line, clock }, dying.protocols[dialect]!, dying.file, kept);
    await expect(first).rejects.toBe(death);
    server.cuts.splice(0);
    const { line, file, reads, protocols } = instance();
    expect(await uploadSession(line, protocols[dialect]!, file, store(kept.saved))).toEqual(whole(dialect));
    expect(reads[0]![0]).toBe(400_000);
    expect(server.sessions).toHaveLength(1);
    expect(server.sessions[0]!.bytes.equals(BYTES)).toBe(true);
    expect(server.faults).toEqual([]);
  });

  test('begins anew when the server lost the session, and not for ever', async () => {
    const kept = store();
    server.settings.loseFrom = 200_000;
    const { line, file, protocols, waits } = instance();
    const first = uploadSession(line, protocols[dialect]!, file, kept);
    await expect(first).rejects.toMatchObject({ failure: 'unavailable', message: expect.stringContaining('lost') });
    expect(server.sessions).toHaveLength(3);
    expect(waits.length).toBeLessThanOrEqual(3);

    server.settings.loseFrom = Infinity;
    server.sessions.push({ bytes: Buffer.alloc(0), gone: true });
    const saved = { session: `/${dialect}/3`, received: 100, begun: 1 };
    expect(await uploadSession(line, protocols[dialect]!, file, store(saved))).toEqual(whole(dialect));
    expect(server.sessions.at(-1)!.bytes.equals(BYTES)).toBe(true);
  });

  test('is finished by one call, whose lost answer is told and can be asked for', async () => {
    const kept = store();
    const { line, file, protocols } = instance();
    const protocol = protocols[dialect]!;
    await uploadSession(line, protocol, file, { ...kept, holdLast: true });
    const held = server.sessions[0]!.bytes.length;
    expect(held).toBe({ ranges: 3 * RANGE, chunks: 2 * RANGE, offset: 0 }[dialect]);

    server.cuts.push(SIZE - 10);
    await expect(finishSession(line, protocol, file, kept.saved)).rejects.toMatchObject({ failure: 'lost' });
    expect(await askSession(line, protocol, file, kept.saved)).toEqual({ received: SIZE - 10 });
    expect(await finishSession(line, protocol, file, kept.saved)).toEqual(whole(dialect));
    expect(server.faults).toEqual([]);
    expect(server.sessions).toHaveLength(1);
    expect(server.sessions[0]!.bytes.equals(BYTES)).toBe(true);
    expect(await finishSession(line, protocol, file, kept.saved)).toEqual(whole(dialect));
    server.sessions[0]!.gone = true;
    expect(await finishSession(line, protocol, file, kept.saved)).toBeUndefined();
    expect(await askSession(line, protocol, file, undefined)).toBeUndefined();
  });

  test('tells the failure when the line is cut again and again without progress', async () => {
    const { line, file, protocols, waits } = instance();
    server.cuts.push(1, 1, 1, 1, 1, 1, 1, 1);
    await expect(uploadSession(line, protocols[dialect]!, file, store())).rejects.toMatchObject({
      failure: 'unavailable',
    });
    expect(waits.length).toBeLessThan(8);
  });
});

describe('uploadSession', () => {
  test('holds the last range back until it is asked for', async () => {
    const kept = store();
    const { line, file, protocols } = instance();
    const held = await uploadSession(line, protocols['ranges']!, file, { ...kept, holdLast: true });
    expect(held).toEqual({ received: 3 * RANGE });
    expect(server.sessions[0]!.bytes).toHaveLength(3 * RANGE);
  });

  test('sends at most so many ranges in one call', async () => {
    const kept = store();
    const received: number[] = [];
    for (let call = 0; call < 4; call += 1) {
      const { line, file, protocols } = instance();
      const done = await uploadSession(line, protocols['ranges']!, file, {
        saved: kept.saved,
        save: kept.save,
        ranges: 1,
      });
      received.push(done.received);
    }
    expect(received).toEqual([RANGE, 2 * RANGE, 3 * RANGE, SIZE]);
    expect(server.sessions).toHaveLength(1);
  });

  test('throws a refusal at once', async () => {
    const { line, file, protocols, waits } = instance();
    const protocol = { ...protocols['ranges']!, begin: () => line.http.get('/nothing/0/1', z.string()) };
    server.sessions.push({ bytes: Buffer.alloc(0), gone: true });
    await expect(uploadSession(line, protocol, file, store())).rejects.toMatchObject({ failure: 'rejected' });
    expect(waits).toEqual([]);
  });
});

import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { settles } from '../../../test/support/wire/settles.ts';
import { type Receiver, startReceiver } from '../../../test/support/wire/receiver.ts';
import { runCli } from './run.ts';

// What the command line makes of a service that is away or refuses midway, played by a server of the test.

let service: Receiver;
let home: string;
beforeEach(async () => {
  service = await startReceiver();
  home = mkdtempSync(join(tmpdir(), 'rookery-run-'));
});
afterEach(async () => {
  rmSync(home, { recursive: true, force: true });
  await service[Symbol.asyncDispose]();
});

type Step = [status: number, body: object] | 'cut';
/** Answers the requests of each path by its next step, the last one for ever. */
function play(steps: Readonly<Record<string, readonly Step[]>>): void {
  const asked = new Map<string, number>();
  service.answer = (response, { path }) => {
    const n = asked.get(path) ?? 0;
    asked.set(path, n + 1);
    const step = steps[path]?.[Math.min(n, steps[path].length - 1)];
    if (step === undefined || step === 'cut') return void response.socket!.destroy();
    response.writeHead(step[0], { 'content-type': 'application/json' }).end(JSON.stringify(step[1]));
  };
}
async function rookery(words: readonly string[], env: Record<string, string> = { ROOKERY_API_KEY: 'pm_live_key' }) {
  const ran = { out: '', err: '' };
  const status = await runCli(words, {
    env: { ROOKERY_URL: service.url, ...env },
    configFolder: join(home, 'rookery'),
    stdin: Readable.from([]),
    out: (text) => void (ran.out += text),
    err: (text) => void (ran.err += text),
    signal: new AbortController().signal,
  });
  return { status, ...ran };
}
/** The program, and where its process finds the service. */
const MAIN = join(import.meta.dirname, 'main.ts');
const env = () => ({ ROOKERY_URL: service.url, ROOKERY_API_KEY: 'pm_live_key', XDG_CONFIG_HOME: home });
const fileOf = (name: string): string => {
  const file = join(home, name);
  writeFileSync(file, name);
  return file;
};

describe('login by a code', () => {
  const code = { device_code: 'd', user_code: 'AAAA-BBBB', verification_uri: 'http://x', interval: 0.01 };
  const refusal = (status: number, error: string): Step => [status, { error, error_description: 'No' }];

  test('goes on while the service is away, and gets the key when it is back', async () => {
    play({
      '/device/code': [[200, { ...code, expires_in: 60 }]],
      '/device/token': [
        refusal(503, 'temporarily_unavailable'),
        'cut',
        refusal(400, 'authorization_pending'),
        [200, { access_token: 'pm_live_key' }],
      ],
      '/public/v1/me': [[200, { orgName: 'Acme', role: 'owner', tier: 'FREE', scopes: null, userId: 'u' }]],
    });
    expect(await rookery(['login'], {})).toMatchObject({ status: 0, out: expect.stringContaining('Acme') });
  });
  test.each([
    [7, refusal(503, 'temporarily_unavailable')],
    [3, refusal(400, 'access_denied')],
    [3, refusal(400, 'authorization_pending')],
  ])('ends with %i where it gets %j for ever', async (status, step) => {
    play({ '/device/code': [[200, { ...code, expires_in: 0.05 }]], '/device/token': [step] });
    expect(await rookery(['login'], {})).toMatchObject({ status, out: '' });
  });
});

describe('files', () => {
  const stored = (id: string): Step => [201, { id, originalName: `${id}.png`, path: `http://x/${id}.png` }];

  test.each([['upload'], ['posts create --channel c --text x --media']])(
    'that cannot be read keep the others from being uploaded: %s',
    async (typed) => {
      const [a, away] = [fileOf('a.png'), join(home, 'away.png')];
      const words = typed.split(' ');
      const files = words.length === 1 ? [a, away] : [a, '--media', away];
      expect(await rookery([...words, ...files])).toMatchObject({
        status: 2,
        err: expect.stringContaining('away.png'),
      });
      expect(service.ledger).toEqual([]);
    },
  );
  test('that were uploaded are told where a later one is refused', async () => {
    play({ '/public/v1/upload': [stored('one'), [402, { message: 'Full', code: 'limit_exceeded' }]] });
    const ran = await rookery(['upload', fileOf('one.png'), fileOf('two.png')]);
    expect(ran).toMatchObject({ status: 5, out: expect.stringContaining('one.png'), err: 'rookery: Full\n' });
  });
});

test('posts create --wait waits for all posts, also where one is gone', async () => {
  const post = (state: string): Step => [200, { id: 'p2', state, publishDate: '2026-01-01T00:00:00.000Z' }];
  play({
    '/public/v1/posts': [[201, ['p1', 'p2'].map((postId) => ({ postId, integration: 'c' }))]],
    '/public/v1/posts/p1': [[404, { message: 'No such post', code: 'not_found' }]],
    '/public/v1/posts/p2': [post('QUEUE'), post('PUBLISHED')],
  });
  const ran = await rookery('posts create --channel c --channel d --text x --wait'.split(' '));
  expect(ran).toMatchObject({ status: 4, err: 'p2 QUEUE\np2 PUBLISHED\nrookery: No such post\n' });
});

describe('a date', () => {
  const moved = () => JSON.parse(service.ledger[0]!.body.toString());
  beforeEach(() => play({ '/public/v1/posts/p1': [[200, { id: 'p1' }]] }));

  test.each([
    ['2026-09-01', '2026-09-01T00:00:00.000Z'],
    ['2026-09-01T10:00', '2026-09-01T10:00:00.000Z'],
    ['2026-09-01 10:00:05.5', '2026-09-01T10:00:05.500Z'],
    ['2026-09-01T10:00:00z', '2026-09-01T10:00:00.000Z'],
    ['2026-09-01 10:00 +02:00', '2026-09-01T08:00:00.000Z'],
    ['2026-09-01T10:00-0400', '2026-09-01T14:00:00.000Z'],
  ])('means what the service reads: %s [S104]', async (text, date) => {
    expect(await rookery(['--json', 'posts', 'move', 'p1', text])).toMatchObject({ status: 0 });
    expect(moved()).toEqual({ publishDate: date });
  });
  test.each(['2026-09-01T10:00', '2026-09-01 10:00'])(
    'without an offset is UTC, in whatever zone the machine is: %s [S104]',
    async (text) => {
      const words = ['--no-warnings', MAIN, '--json', 'posts', 'move', 'p1', text];
      const child = spawn(process.execPath, words, { env: { ...env(), TZ: 'America/New_York' }, stdio: 'ignore' });
      expect(await once(child, 'exit')).toEqual([0, null]);
      expect(moved()).toEqual({ publishDate: '2026-09-01T10:00:00.000Z' });
    },
  );
  test.each(['2026-02-30T10:00:00Z', '2026-09-31', '2026-09-01 (noon)', '2026-09-01 10:00 PM', '2026-09-01T24:30'])(
    'is refused that no calendar has, or that the service does not read: %s',
    async (text) => {
      expect(await rookery(['posts', 'move', 'p1', text])).toMatchObject({
        status: 2,
        err: expect.stringContaining('It must be a date such as'),
      });
      expect(service.ledger).toEqual([]);
    },
  );
});

test.each(['SIGINT', 'SIGTERM'] as const)('%s ends a command that waits for an answer', async (signal) => {
  service.answer = () => undefined;
  const child = spawn(process.execPath, ['--no-warnings', MAIN, 'channels'], { env: env(), stdio: 'ignore' });
  const ended = once(child, 'exit');
  await settles(() => expect(service.ledger).toHaveLength(1));
  child.kill(signal);
  expect(await ended).toEqual([130, null]);
});

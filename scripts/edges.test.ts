import { globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

// What the simulation (`test/sim`) stands on: time, timers and randomness of the product come from the kernel, and "due"
// is asked of functions of the database that a schema can stand before.

const BYPASS =
  /\b(setTimeout|setInterval|Date\.now|Math\.random|performance\.now|randomUUID|randomBytes|randomInt|AbortSignal\.timeout)\(|\bnew Date\(\)|['"]node:timers/g;
/** Words of SQL that the parser turns into time without a function, and the literal that is read as the present. */
const SQL_TIME = /\b(current_timestamp|current_date|current_time|localtimestamp|localtime)\b|'now'::|::\s*'now'/gi;

/** The rooms that decide when something leaves, and what surrounds them. */
const ROOMS = [
  'src/platform/{actor-runtime,outbound,outbox,flow,db}/**/*.ts',
  'src/publishing/**/*.ts',
  'actors/**/*.ts',
];
/** Edges: what is real there and cannot be simulated, by file. */
const EDGES: Readonly<Record<string, string>> = {
  'src/platform/actor-runtime/dapr/actor-requests.ts': 'requests of a sidecar',
  'src/platform/actor-runtime/dapr/invoke.ts': 'answers of a sidecar',
  'src/platform/outbound/egress-route.ts': 'deadlines of sockets',
  'src/platform/outbound/proxy.ts': 'deadlines of sockets',
  'src/platform/outbound/upload.ts': 'deadlines of sockets',
  'src/platform/flow/write-behind.ts': 'notes that keep no process alive',
  'src/platform/db/frozen.ts': 'connections that are silent',
  'src/platform/db/embedded/index.ts': 'the process of the database',
};

const sources = (patterns: readonly string[]) =>
  globSync([...patterns], { cwd: '.' })
    .filter((path) => !path.endsWith('.test.ts'))
    .toSorted();
const code = (path: string): string => readFileSync(path, 'utf8').replace(/^\s*(\/\/|\*|--).*$/gm, '');
const found = (text: string, pattern: RegExp): string[] => text.match(pattern) ?? [];

test('runtime, posts and the way out take time, timers and randomness from the kernel, but for named edges', () => {
  const bypassing = sources(ROOMS).filter((path) => found(code(path), BYPASS).length > 0);
  expect(bypassing).toEqual(Object.keys(EDGES).toSorted());
});

test('no statement of the product asks for time by a word that no schema can stand before', () => {
  const asking = sources(['{src,actors,api}/**/*.ts', 'src/platform/db/migrations/*.sql']).filter(
    (path) => found(code(path), SQL_TIME).length > 0,
  );
  expect(asking).toEqual([]);
});

test('a planted timer, date, number or word of SQL is found', () => {
  for (const planted of [
    'setTimeout(work, 5)',
    'const at = new Date();',
    'Math.random()',
    "from 'node:timers/promises'",
  ])
    expect([planted, found(planted, BYPASS).length]).toEqual([planted, 1]);
  for (const planted of ['where due_at < current_timestamp', "select 'now'::timestamptz"])
    expect([planted, found(planted, SQL_TIME).length]).toEqual([planted, 1]);
});

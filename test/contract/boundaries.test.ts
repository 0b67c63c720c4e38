// oxlint-disable max-lines -- a table of violations, and one tree in which all of them are planted
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, normalize, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

// A parser that is missing makes the boundary checker report a clean tree of nothing. So a tree with one violation
// for each rule is planted, and each rule must catch its own.
const require = createRequire(import.meta.url);
const rules = (require(resolve('.dependency-cruiser.cjs')) as { forbidden: { name: string }[] }).forbidden.map(
  ({ name }) => name,
);
const named = (prefix: string) =>
  rules.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));

/** A violation of each rule: file → the modules that it imports. Every planted file is named `planted-…`. */
const PLANTS: Record<string, Record<string, string[]>> = {
  'no-cycles': {
    'src/platform/kernel/planted-a.ts': ['./planted-b.ts'],
    'src/platform/kernel/planted-b.ts': ['./planted-a.ts'],
  },
  'tests-are-leaves': { 'src/platform/kernel/planted-test.ts': ['../../../test/support/worlds/turn.ts'] },
  'src-imports-down': { 'src/platform/kernel/planted-up.ts': ['../../../api/app.ts'] },
  'actors-not-api': { 'actors/post/planted-api.ts': ['../../api/app.ts'] },
  'api-sees-contracts': { 'api/planted-actor.ts': ['../actors/post/actor.ts'] },
  'actors-see-contracts': { 'actors/post/planted-actor.ts': ['../channel/actor.ts'] },
  'engine-behind-interface': { 'api/planted-engine.ts': ['../src/platform/actor-runtime/dapr/engine.ts'] },
  'engines-apart': { 'src/platform/actor-runtime/dapr/planted-other.ts': ['../embedded/engine.ts'] },
  'all-of-src': { 'src/publishing/posts/planted-context.ts': ['../../context.ts'] },
  'wings-opened-by-context': {
    'src/publishing/planted-wing-door.ts': ['../people/open.ts'],
    'api/planted-wing-door.ts': ['../src/people/open.ts'],
  },
  'adapter-sees-its-kit': { 'src/providers/social/planted.v1.ts': ['node:fs'] },
  'adapters-by-registry': { 'src/providers/planted-adapter.ts': ['./social/known.v1.ts'] },
  'service-without-clients': { 'api/planted-client.ts': ['../clients/typescript/index.ts'] },
  'clients-without-service': { 'clients/cli/planted-service.ts': ['../../api/app.ts'] },
  'client-without-command-line': { 'clients/typescript/planted-command.ts': ['../cli/run.ts'] },
  'rooms-call-no-actors': { 'src/publishing/posts/planted-actors.ts': ['../../platform/actor-runtime/contract.ts'] },
  ...Object.fromEntries(
    named('wing:').map((wing) => [`wing:${wing}`, { [`src/${wing}/planted-wing.ts`]: ['../zoo/index.ts'] }]),
  ),
  ...Object.fromEntries(
    named('room:').map((room) => [
      `room:${room}`,
      { [`src/${folderOf(room)}/planted-room.ts`]: ['../planted-other/index.ts'] },
    ]),
  ),
  ...Object.fromEntries(
    named('door:').map((room) => [
      `door:${room}`,
      { [`api/planted-door-${room.replace('/', '-')}.ts`]: [`../src/${room}/store.ts`] },
    ]),
  ),
  ...Object.fromEntries(
    named('owner:').map((owner) => [
      `owner:${owner}`,
      { [`src/zoo/planted-owner-${named('owner:').indexOf(owner)}.ts`]: [packageOf(owner)] },
    ]),
  ),
};

/** The folder of a room; `domains` stands for each domain of providers. */
function folderOf(room: string): string {
  return room === 'providers/domains' ? 'providers/social' : room;
}

/** The first package that an owner's pattern names. */
function packageOf(pattern: string): string {
  const first = pattern.split('|').find((name) => !name.includes('(')) ?? 'express';
  return first.startsWith('@') && !first.includes('/') ? `${first}/planted` : first;
}

let root: string;
const put = (file: string, text: string) => {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
};
const importing = (modules: readonly string[]) =>
  modules.map((module, n) => `import * as m${n} from '${module}';\n`).join('') +
  `export const x = [${modules.map((_, n) => `m${n}`).join(', ')}];\n`;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'planted-'));
  cpSync('.dependency-cruiser.cjs', join(root, '.dependency-cruiser.cjs'));
  cpSync('tsconfig.json', join(root, 'tsconfig.json'));
  put('package.json', JSON.stringify({ name: 'planted', type: 'module' }));
  const modules = join(root, 'node_modules');
  mkdirSync(modules);
  for (const name of ['typescript', '@swc']) symlinkSync(resolve('node_modules', name), join(modules, name));
  for (const owner of named('owner:')) {
    const name = packageOf(owner);
    put(`node_modules/${name}/package.json`, JSON.stringify({ name, version: '1.0.0', main: 'index.js' }));
    put(`node_modules/${name}/index.js`, 'export const y = 1;');
  }
  const wings = named('wing:');
  for (const folder of [
    'zoo',
    ...wings,
    ...wings.map((wing) => `${wing}/planted-other`),
    ...named('room:').map(folderOf),
  ]) {
    put(`src/${folder}/index.ts`, 'export const x = 1;\n');
    put(`src/${folder}/store.ts`, 'export const x = 1;\n');
  }
  for (const file of [
    'src/platform/actor-runtime/contract.ts',
    'src/platform/actor-runtime/dapr/engine.ts',
    'src/platform/actor-runtime/embedded/engine.ts',
    'src/context.ts',
    'src/people/open.ts',
    'src/operations/cli/main.ts',
    'api/app.ts',
    'clients/typescript/index.ts',
    'clients/cli/run.ts',
    'actors/post/actor.ts',
    'actors/channel/actor.ts',
    'test/support/worlds/turn.ts',
    'src/providers/social/known.v1.ts',
  ])
    put(file, 'export const x = 1;\n');
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface Violation {
  from: string;
  rule: { name: string };
}
function violations(): Violation[] {
  const { stdout, stderr } = spawnSync(
    resolve('node_modules/.bin/depcruise'),
    ['--config', '.dependency-cruiser.cjs', '--output-type', 'json', 'src', 'actors', 'api', 'clients', 'test'],
    { cwd: root, maxBuffer: 1e8 },
  );
  if (!stdout.length) throw new Error(stderr.toString());
  return (JSON.parse(stdout.toString()) as { summary: { violations: Violation[] } }).summary.violations;
}

test('a clean tree has no violation, and each rule catches its planted one', () => {
  expect(violations()).toEqual([]);
  for (const files of Object.values(PLANTS))
    for (const [file, modules] of Object.entries(files)) put(file, importing(modules));
  const seen = violations();
  const missed = rules.filter(
    (rule) => !seen.some((one) => one.rule.name === rule && Object.keys(PLANTS[rule] ?? {}).includes(one.from)),
  );
  expect(missed).toEqual([]);
  expect(rules.length).toBeGreaterThan(60);
});

test('a type-only import counts', () => {
  put(
    'src/platform/kernel/planted-type.ts',
    "import type * as t from '../../publishing/posts/index.ts';\nexport type X = typeof t;\n",
  );
  expect(
    violations()
      .filter(({ from }) => from === 'src/platform/kernel/planted-type.ts')
      .map(({ rule }) => rule.name),
  ).toContain('wing:platform');
});

interface Tables {
  WINGS: Readonly<Record<string, readonly string[]>>;
  ROOMS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  DOMAINS: string;
  OWNERS: Readonly<Record<string, string>>;
}
const { tables } = require(resolve('.dependency-cruiser.cjs')) as { tables: Tables };
const domains = tables.DOMAINS.split('|');

const foldersIn = (folder: string) =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));

/** The files of the product below a folder, with their text. */
function productIn(folder: string): { file: string; text: string }[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  );
  return files.map((file) => ({ file: join(folder, file), text: readFileSync(join(folder, file), 'utf8') }));
}
const imported = (text: string) =>
  [...text.matchAll(/(?:\bfrom |\bimport\(|^import |\.resolve\()'([^']+)'/gm)].map(([, module]) => module!);

/** Wing and room of a file below `src/`; the room is undefined for files that lie in the wing itself. */
function placeOf(file: string): { wing: string; room: string | undefined } {
  const [, wing = '', room, ...rest] = file.split('/');
  if (room === undefined || rest.length === 0) return { wing, room: undefined };
  return { wing, room: wing === 'providers' && domains.includes(room) ? 'domains' : room };
}

/** Grants of the tables that no import of the product uses. */
function unusedGrants({ WINGS, ROOMS, OWNERS }: Tables): string[] {
  const used = new Set<string>();
  const packages = new Map<string, string[]>();
  for (const { file, text } of ['src', 'api', 'actors', 'clients'].flatMap(productIn)) {
    const from = placeOf(file);
    for (const module of imported(text)) {
      if (!module.startsWith('.')) packages.set(module, [...(packages.get(module) ?? []), file]);
      const target = normalize(join(dirname(file), module));
      if (!module.startsWith('.') || !file.startsWith('src/') || !target.startsWith('src/')) continue;
      const to = placeOf(target);
      used.add(from.wing === to.wing ? `${from.wing}/${from.room} -> ${to.room}` : `${from.wing} -> ${to.wing}`);
    }
  }
  const isOwned = (name: string, owner: string) =>
    [...packages].some(
      ([module, files]) =>
        new RegExp(`^${name}(/|$)`).test(module) && files.some((file) => new RegExp(`^${owner}`).test(file)),
    );
  return [
    ...Object.entries(WINGS).flatMap(([wing, others]) => others.map((other) => `${wing} -> ${other}`)),
    ...Object.entries(ROOMS).flatMap(([wing, rooms]) =>
      Object.entries(rooms).flatMap(([room, others]) => others.map((other) => `${wing}/${room} -> ${other}`)),
    ),
  ]
    .filter((grant) => !used.has(grant))
    .concat(
      Object.entries(OWNERS).flatMap(([names, owner]) =>
        names.split(/\|(?![^(]*\))/).flatMap((name) => (isOwned(name, owner) ? [] : [`${owner} -> ${name}`])),
      ),
    );
}

/** Rooms of the tables that are not there, and folders and files of `src/` that are no room. */
function misplaced({ WINGS, ROOMS, DOMAINS }: Tables): string[] {
  const roomsOf = (wing: string) =>
    wing === 'providers'
      ? [...Object.keys(ROOMS[wing]!).filter((room) => room !== 'domains'), ...DOMAINS.split('|')]
      : Object.keys(ROOMS[wing] ?? {});
  const compare = (folder: string, wanted: readonly string[]) => {
    const there = foldersIn(folder);
    return [
      ...wanted.filter((name) => !there.includes(name)).map((name) => `${folder}/${name} is not there`),
      ...there.filter((name) => !wanted.includes(name)).map((name) => `${folder}/${name} is no room`),
    ];
  };
  const isDomain = (wing: string, room: string) => wing === 'providers' && DOMAINS.split('|').includes(room);
  return [
    ...compare('src', Object.keys(WINGS)),
    ...Object.keys(WINGS)
      .filter((wing) => existsSync(`src/${wing}`))
      .flatMap((wing) => [
        ...compare(`src/${wing}`, roomsOf(wing)),
        ...[`src/${wing}/open.ts`, ...(ROOMS[wing] ? [] : [`src/${wing}/index.ts`])]
          .filter((file) => !existsSync(file))
          .map((file) => `${file} is not there`),
        ...(ROOMS[wing]
          ? readdirSync(`src/${wing}`).filter((file) => file.endsWith('.ts') && file !== 'open.ts')
          : []
        ).map((file) => `src/${wing}/${file} lies in no room`),
        ...roomsOf(wing).flatMap((room) =>
          isDomain(wing, room) ||
          room === 'kit' ||
          room === 'cli' ||
          !existsSync(`src/${wing}/${room}`) ||
          existsSync(`src/${wing}/${room}/index.ts`)
            ? []
            : [`src/${wing}/${room}/index.ts is not there`],
        ),
      ]),
  ];
}

/** The rooms whose SQL inserts into, updates or deletes from each table. */
function writersOf(files: readonly { file: string; text: string }[]): Map<string, Set<string>> {
  const written = new Map<string, Set<string>>();
  const created = new Set(
    readdirSync('src/platform/db/migrations').flatMap((file) =>
      [
        ...readFileSync(join('src/platform/db/migrations', file), 'utf8').matchAll(
          /create (?:unlogged )?table (?:if not exists )?(\w+)/gi,
        ),
      ].map(([, table]) => table!),
    ),
  );
  for (const { file, text } of files)
    for (const [, table] of text.matchAll(
      /\b(?:insert\s+into|update|delete\s+from|merge\s+into|truncate)\s+(?:only\s+)?(\w+)/gi,
    )) {
      const { wing, room } = placeOf(file);
      if (!created.has(table!)) continue;
      written.set(table!, (written.get(table!) ?? new Set()).add(room === undefined ? wing : `${wing}/${room}`));
    }
  return written;
}

/** Rooms that write a table of another room: table → its room, and why each other one writes it. */
const WRITES_OF_OTHERS: Readonly<Record<string, { owner: string; others: Readonly<Record<string, string>> }>> = {
  api_keys: {
    owner: 'people/auth',
    others: { 'people/members': 'the statement that removes a membership revokes its keys' },
  },
  channels: {
    owner: 'publishing/channels',
    others: {
      'publishing/posts': 'slot and due time of a channel change in the statement that changes its posts',
      'publishing/egress': 'the chosen route is a column of the channel',
    },
  },
  connect_states: {
    owner: 'publishing/channels',
    others: { 'people/members': 'the statement that removes a membership ends what it began to connect' },
  },
  idempotency_keys: {
    owner: 'platform/db',
    others: { 'publishing/posts': 'one statement stores the posts of many calls with their replies' },
  },
  invitations: {
    owner: 'people/members',
    others: {
      'people/identity': 'the statement that removes a user deletes those that they sent',
      'people/organizations': 'the statement that removes an organization deletes them',
    },
  },
  memberships: {
    owner: 'people/members',
    others: {
      'people/identity': 'a user is made with an organization and its owner in one statement, and leaves as one',
      'people/auth': 'the last use of a session is written with that of the membership',
      'people/organizations': 'an organization is made with its owner in one statement',
    },
  },
  org_counters: {
    owner: 'entitlements',
    others: {
      'library/media': 'the day on which the soft quota of storage was told is a column of the counters',
      'publishing/posts': 'posts are counted in the statement that stores them',
    },
  },
  organizations: {
    owner: 'people/organizations',
    others: {
      'billing/subscriptions': 'trial and own refund are granted once in the life of an organization: columns of it',
      entitlements: 'limits that an operator sets are a column of the organization',
      'operations/admin': 'an operator disables an organization',
      'people/auth': 'a registration that nobody confirmed is written anew, or deleted with its organization',
      'people/identity': 'a user is made with an organization in one statement, and its last user removes it',
      'people/members': 'a user who loses the last membership is given an organization of their own',
      'publishing/egress': 'the usual route is a column of the organization',
    },
  },
  subscriptions: {
    owner: 'billing/subscriptions',
    others: { entitlements: 'lapses are forgotten when billing is off, where no billing runs' },
  },
  user_profiles: {
    owner: 'people/identity',
    others: { 'people/auth': 'a registration that nobody confirmed is written anew' },
  },
  users: {
    owner: 'people/identity',
    others: {
      'operations/admin': 'an operator locks a user or makes one super-admin',
      'people/auth': 'password, address, last use and traces of a log-in are columns of the user',
      'people/notifications': 'when somebody last read their notifications is a column of the user',
    },
  },
};

/** Rooms that write a table of another room without a reason above, and reasons that no write needs. */
function unexplainedWrites(files: readonly { file: string; text: string }[]): string[] {
  const written = writersOf(files);
  return [
    ...[...written].flatMap(([table, rooms]) => {
      const { owner, others } = WRITES_OF_OTHERS[table] ?? { owner: [...rooms][0]!, others: {} };
      return [...rooms]
        .filter((room) => room !== owner && !(room in others))
        .map((room) => `${room} writes ${table} of ${owner}`);
    }),
    ...Object.entries(WRITES_OF_OTHERS).flatMap(([table, { owner, others }]) =>
      [owner, ...Object.keys(others)]
        .filter((room) => !written.get(table)?.has(room))
        .map((room) => `${room} does not write ${table}`),
    ),
  ];
}

describe('the tables of wings and rooms', () => {
  test('hold no grant that no import uses', () => {
    expect(unusedGrants(tables)).toEqual([]);
    const planted = {
      ...tables,
      WINGS: { ...tables.WINGS, publishing: [...tables.WINGS['publishing']!, 'delivery'] },
      ROOMS: { ...tables.ROOMS, delivery: { email: [], webhooks: ['email'] } },
      OWNERS: { ...tables.OWNERS, 'undici|left-pad': 'src/platform/' },
    };
    expect(unusedGrants(planted)).toEqual([
      'publishing -> delivery',
      'delivery/webhooks -> email',
      'src/platform/ -> left-pad',
    ]);
  });

  test('name every folder of src, and none that is not there', () => {
    expect(misplaced(tables)).toEqual([]);
    const { library: _, ...ROOMS } = tables.ROOMS;
    const planted = {
      ...tables,
      WINGS: { ...tables.WINGS, archives: [] },
      ROOMS: { ...ROOMS, delivery: { email: [], fax: [], push: [] } },
    };
    expect(misplaced(planted)).toEqual([
      'src/archives is not there',
      'src/delivery/fax is not there',
      'src/delivery/neighbours is no room',
      'src/delivery/webhooks is no room',
      'src/library/brand-kits is no room',
      'src/library/media is no room',
      'src/library/stock is no room',
      'src/library/index.ts is not there',
    ]);
  });

  test('each table of the database is written by its room, and by those others that have a reason', () => {
    const files = productIn('src');
    expect(unexplainedWrites(files)).toEqual([]);
    const planted = [
      { file: 'src/people/members/planted.ts', text: 'sql`insert into webhooks (id) values (1)`' },
      { file: 'src/delivery/email/planted.ts', text: 'sql`with gone as (delete from users) select 1`' },
    ];
    expect(unexplainedWrites([...files, ...planted])).toEqual([
      expect.stringMatching(/^people\/members writes webhooks/),
      'delivery/email writes users of people/identity',
    ]);
    expect(unexplainedWrites(files.filter(({ file }) => !file.startsWith('src/publishing/egress/')))).toContain(
      'publishing/egress does not write channels',
    );
  });

  test('no folder of tests has more than thirty files, but for the fixtures of a domain, a file each', () => {
    const tests = readdirSync('test', { recursive: true, withFileTypes: true }).filter(
      (one) => one.isFile() && !/node_modules|^test\/(peers|fixtures\/providers)\b/.test(one.parentPath),
    );
    const folders = Map.groupBy(tests, ({ parentPath }) => parentPath);
    expect(folders.size).toBeGreaterThan(40);
    expect([...folders].filter(([, files]) => files.length > 30).map(([folder]) => folder)).toEqual([]);
  });
});

// node scripts/wiring.ts [--file <path>] [--lines <pattern>] [--from <number>] [--only <numbers>] [--rounds <number>]
// [--tests <pattern>] [--workers <number>] [--types]: drops each line of the composition in turn, and puts the default
// in the place of each setting that a line passes on, and asks whether anything notices. The types of all changes are
// checked in one program. Each change that compiles is given to tests in a copy of the repository, the likeliest file
// first, further files in further rounds; a round is one run of jest, in which each test file stands once for each
// change that it is asked about. Prints each change with the test that noticed it, as it comes, and in the end those
// that nothing noticed. `--from` and `--only` take numbers that a run has printed; `--tests` asks the test files of
// that name and no others; `--rounds` ends after so many rounds, `--types` before the first.
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { readConfig } from '../src/platform/config/index.ts';
import type { Setting } from '../src/platform/config/kinds.ts';
import { SETTINGS } from '../src/platform/config/settings.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const WINGS = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [`src/${entry.name}/open.ts`] : [],
);
const FILES = ['src/context.ts', ...WINGS.toSorted(), 'actors/host/start.ts'];
const JWT_SECRET = 'x'.repeat(32);
/** While no test file ends for so long, those that are under way hang: that is noticed too. */
const SILENCE_MS = 6 * 60_000;
const TESTS = 'test/integration';

/**
 * Beginnings of the test files that show a room, where they are not called like the room; `/x.` for the files of a room
 * x.
 */
const SHOWN_BY: Readonly<Record<string, readonly string[]>> = {
  Actors: ['operations/', 'publishing/dispatch/reconciler'],
  Admin: ['operations/admin.'],
  Cache: ['api/ratelimit-shared', 'operations/outages', 'platform/cache.'],
  Auth: ['people/auth/'],
  CallCounts: ['providers/catalog.entries'],
  Changes: ['providers/settings'],
  Engine: ['operations/actors', 'publishing/dispatch/publishing'],
  ErrorLog: ['operations/admin.operations', 'operations/retention'],
  Health: ['operations/'],
  Host: ['operations/actors', 'operations/metrics'],
  Identity: ['people/auth/', 'people/auth/life', 'people/identity.first-admin'],
  Lease: ['operations/sweeper'],
  Listeners: ['platform/outbox/listeners', 'delivery/webhooks.delivery'],
  FederatedLogin: ['people/federated-login.redirects', 'oauth-server/flow', 'operations/settings-effect'],
  Logins: ['publishing/channels/login', 'operations/settings-effect'],
  Maker: ['publishing/shortlinks.posts'],
  Metrics: ['operations/metrics'],
  Providers: [
    'operations/settings-effect.publishing',
    'operations/settings-effect.outbound',
    'publishing/egress.api',
    'providers/catalog.',
  ],
  Organizations: ['people/organizations.', 'people/organizations.crud', 'entitlements/hosts'],
  MailTransport: ['delivery/email.'],
  Override: ['delivery/email.'],
  Payments: ['billing/'],
  PaymentsOf: ['billing/operate', 'billing/'],
  PlatformWing: ['operations/closing', 'operations/metrics', 'api/ladder.', 'publishing/posts/api.'],
  Pool: ['operations/closing', 'operations/settings-effect', 'operations/outages'],
  Reconciler: [
    'publishing/dispatch/reconciler',
    'delivery/webhooks.delivery',
    'entitlements/hosts',
    'operations/metrics',
  ],
  Sender: ['delivery/email.sender'],
  Stock: ['library/stock.api'],
  Stripe: ['billing/'],
  Sweeper: ['operations/sweeper'],
  Vault: ['platform/db/reencrypt', 'providers/settings'],
};

/** The same for single options. */
const OPTION_SHOWN_BY: Readonly<Record<string, readonly string[]>> = {
  actors: ['operations/closing'],
  actorTypes: ['api/ladder.'],
  adapter: ['delivery/email.'],
  adapters: ['publishing/dispatch/processing'],
  addresses: ['people/federated-login.redirects'],
  apps: ['operations/settings-effect.publishing'],
  audit: ['platform/audit.acts'],
  authorities: ['operations/settings-effect.mail'],
  backendUrl: ['people/notifications.mail', 'studio/media-jobs.life'],
  begin: ['billing/grace'],
  behind: ['operations/outages'],
  bus: ['operations/closing'],
  channel_id: ['publishing/posts/api.'],
  close: ['operations/settings-effect.mail'],
  date_trunc: ['publishing/posts/api.'],
  drain: ['operations/closing'],
  drainPosts: ['operations/closing'],
  engine: ['operations/closing'],
  errors: ['operations/admin.operations', 'operations/retention.'],
  events: ['operations/metrics'],
  forgetActorsOf: ['operations/erasure.'],
  forgetInvitations: ['operations/erasure.'],
  forgetMails: ['operations/erasure.'],
  forgetMentions: ['operations/erasure.'],
  forgetRefused: ['operations/erasure.'],
  from: ['publishing/posts/api.'],
  frontendUrl: ['people/auth/account', 'publishing/channels/login', 'billing/grace'],
  gauges: ['operations/metrics'],
  hosts: ['operations/actors'],
  http: ['people/auth/account', 'people/federated-login.redirects'],
  issuer: ['oauth-server/flow', 'oauth-server/tokens'],
  label: ['operations/metrics'],
  listeners: ['delivery/webhooks.delivery'],
  mailReports: ['delivery/email.events'],
  metrics: ['operations/metrics'],
  neighboursListener: ['delivery/neighbours'],
  notificationsListener: ['people/notifications.product'],
  onCall: ['providers/catalog.entries'],
  onChange: ['operations/outages'],
  onFound: ['operations/metrics'],
  onHandlerError: ['operations/closing'],
  openAuthTokens: ['billing/operate'],
  openTokens: ['billing/operate'],
  operatorOutbound: ['operations/settings-effect.outbound'],
  paymentsOff: ['billing/operate'],
  postOptionsOf: ['operations/settings-effect.publishing'],
  providerCatalog: ['providers/catalog.entries'],
  reconciler: ['operations/closing'],
  refusedPasswords: ['operations/settings-effect.login'],
  runs: ['studio/runs.outcomes'],
  sandboxEnabled: ['operations/settings-effect.process'],
  seed: ['providers/catalog.entries'],
  setupToken: ['people/identity.first-admin'],
  signingKey: ['library/media.multipart', 'studio/media-jobs.life'],
  sso: ['people/federated-login.redirects'],
  servers: ['library/stock.api'],
  site: ['delivery/email.flow'],
  streaksListener: ['insights/streaks'],
  tracing: ['operations/tracing'],
  transforms: ['operations/idle', 'library/media.transforms'],
  urlOfPicture: ['operations/settings-effect.service'],
  wakeWebhooks: ['delivery/webhooks.delivery'],
  webhooksListener: ['delivery/webhooks.delivery'],
  unsignedTimeoutMs: ['delivery/webhooks.unsigned'],
  workers: ['operations/idle'],
  working: ['operations/closing', 'operations/idle'],
};

/** Asked for any line of a file. */
const FILE_SHOWN_BY: Readonly<Record<string, readonly string[]>> = {
  'actors/host/start.ts': ['operations/closing', 'operations/idle', 'operations/metrics'],
};

/** Asked last, for a change anywhere. */
const EVERYWHERE =
  /^(operations\/|publishing\/posts\/api\.|publishing\/dispatch\/publishing\.|entitlements\/limits-api|delivery\/webhooks\.(api|delivery)|billing\/life)/;

const { values } = parseArgs({
  options: {
    file: { type: 'string' },
    lines: { type: 'string' },
    from: { type: 'string', default: '1' },
    only: { type: 'string' },
    rounds: { type: 'string', default: '9' },
    tests: { type: 'string' },
    workers: { type: 'string', default: '4' }, // most files wait for what does not come
    types: { type: 'boolean', default: false },
  },
});
const wanted = new RegExp(values.lines ?? '');
const wantedTests = values.tests === undefined ? undefined : new RegExp(values.tests);
const only = values.only?.split(',').map(Number);
const say = (line: string) => void process.stdout.write(`${line}\n`);

interface Change {
  file: string;
  /** Line, what was done, and the text of the line. */
  name: string;
  text: string;
  /** Paths in the configuration that the line passes on. */
  passedOn: readonly string[];
  /** The call that the line is part of, without its verb: `Posts` for an option of `openPosts`. */
  room: string | undefined;
  /** Strings in the line, and the names of what it passes on or calls. */
  words: readonly string[];
  options: readonly string[];
}

/** The variable by which a test file chooses a change. */
const CHOICE = 'WIRING_CHANGE';
const changedName = (file: string, n: number) => file.replace(/\.ts$/, `.change-${n}.ts`);

/** Lines that say something by themselves: no comment, no import, no type, no bracket alone. */
function droppable(lines: readonly string[]): number[] {
  let isType = false;
  return lines.flatMap((line, n) => {
    if (/^(export )?(interface|type) /.test(line)) isType = !/;\s*$/.test(line);
    const counts =
      !isType &&
      !/^\s*(\/\/|\/?\*|import |export (\{|type|interface))/.test(line) &&
      !/^(interface|type) /.test(line) &&
      /\w/.test(line);
    if (line.startsWith('}')) isType = false;
    return counts && wanted.test(line) ? [n] : [];
  });
}
/** The call of a room around a line: on the line itself, or on a line before it that is indented less. */
function roomOf(lines: readonly string[], n: number): string | undefined {
  const indent = (line: string) => line.search(/\S/);
  let depth = Infinity;
  for (let at = n; at >= 0; at -= 1) {
    const line = lines[at]!;
    if (at !== n && (line === '' || indent(line) >= depth)) continue;
    depth = indent(line);
    const [, room] = /\b(?:open|start|create|measure|wake)([A-Z]\w*)\(/.exec(line) ?? [];
    if (room !== undefined && room !== 'Context') return room;
  }
  return undefined;
}
/** Parts of the configuration that a function takes out of its parameter. */
function takenOut(lines: readonly string[], n: number): string[] {
  const header = lines.slice(0, n + 1).findLast((line) => /^(export )?((async )?function|const) /.test(line)) ?? '';
  const [, parts = ''] = /\(\{ (.*?) \}: Config\b/.exec(header) ?? [];
  return parts.replaceAll(/\w+: \{[^}]*\}/g, '').match(/\w+/g) ?? [];
}
/** The text without one line, and once for each setting in the line, with the default in its place. */
function changesOf(file: string): Change[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const lines = text.split('\n');
  const config = relative(dirname(file), 'src/platform/config/index.ts');
  const usual = [
    `import { readConfig as readUsual } from '${config.startsWith('.') ? config : `./${config}`}';`,
    `const USUAL = readUsual({ JWT_SECRET: '${JWT_SECRET}' }).config;`,
    '',
  ].join('\n');
  return droppable(lines).flatMap((n) => {
    const line = lines[n]!;
    const parts = takenOut(lines, n);
    const reads = new RegExp(
      String.raw`(?<![.\w'])(?:config(?=[,)])|(?:${['config', ...parts].join('|')})(?:\.[a-z]\w*)+)`,
      'g',
    );
    const uses = [...line.matchAll(reads)].map(({ 0: read, index }) => {
      const path = read.replace(/^config\.?/, '');
      const value = `USUAL${path === '' ? '' : `.${path}`}`;
      const isShort = path === '' && line.trim() === 'config,';
      return { path, index, read, value: isShort ? `config: ${value}` : value };
    });
    const of = {
      file,
      room: roomOf(lines, n),
      words: [...line.matchAll(/'([\w-]+)'/g)].map(([, word]) => word!),
      options: line.match(/\w+/g) ?? [],
    };
    const named = (what: string) => `${file}:${n + 1}  ${what}: ${line.trim()}`;
    return [
      { ...of, name: named('dropped'), text: lines.toSpliced(n, 1).join('\n'), passedOn: uses.map(({ path }) => path) },
      ...uses.map(({ path, index, read, value }) => ({
        ...of,
        name: named(`default for ${path || 'the whole configuration'}`),
        text: usual + lines.with(n, line.slice(0, index) + value + line.slice(index + read.length)).join('\n'),
        passedOn: [path],
      })),
    ];
  });
}

/** Names of the settings that change what lies at each path of the configuration. */
function settingsAt(): (path: string) => string[] {
  const others = ({ type, fallback }: Setting<unknown>): string[] => {
    if (typeof fallback === 'number') return [String(fallback + 1)];
    if (type === 'true or false') return ['true', 'false'];
    return [
      'other',
      '5',
      'postgres',
      '127.0.0.1',
      '10.9.0.0/16',
      ...['https', 'redis', 'postgres'].map((scheme) => `${scheme}://other.example`),
    ];
  };
  const usual = readConfig({ JWT_SECRET }).config as unknown as Record<string, unknown>;
  const at = (config: unknown, path: string) =>
    path.split('.').reduce((part, key) => (part as Record<string, unknown> | undefined)?.[key], config);
  const changed = Object.entries(SETTINGS as Record<string, Setting<unknown>>).flatMap(([name, setting]) =>
    others(setting).map((value) => ({ name, config: readConfig({ JWT_SECRET, [name]: value }).config })),
  );
  return (path) =>
    path === ''
      ? []
      : [
          ...new Set(
            changed
              .filter(({ config }) => !isDeepStrictEqual(at(config, path), at(usual, path)))
              .map(({ name }) => name),
          ),
        ];
}

/** Groups of processes that are under way: they end with this one. */
const running = new Set<number>();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    for (const pid of running) process.kill(-pid, 'SIGKILL');
    rmSync(copy, { recursive: true, force: true });
    process.exit(1);
  });

interface Ran {
  code: number | null;
  said: string;
}
function run(command: string, args: readonly string[], onLine: (line: string) => void = () => undefined): Promise<Ran> {
  const env = { ...process.env, NODE_OPTIONS: '--no-warnings' };
  const child = spawn(command, args, { cwd: copy, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  running.add(child.pid!);
  let said = '';
  const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), SILENCE_MS);
  for (const input of [child.stdout, child.stderr])
    createInterface({ input }).on('line', (line) => {
      said += `${line}\n`;
      timer.refresh();
      onLine(line);
    });
  return new Promise((done, fail) => {
    child.on('error', fail).on('close', (code) => {
      clearTimeout(timer);
      running.delete(child.pid!);
      done({ code, said });
    });
  });
}
/**
 * Checks the types of the changes `asked` at once, each as a file of its own beside the one that it changes; answers the
 * numbers of those that compile.
 */
async function compiling(changes: readonly Change[], asked: readonly number[]): Promise<Set<number>> {
  const nameOf = (n: number) => join(copy, changedName(changes[n]!.file, n));
  const project = join(copy, 'tsconfig.changes.json');
  // a name left without a use says nothing about the change
  const compilerOptions = { noUnusedLocals: false, noUnusedParameters: false };
  const left = new Set(asked);
  for (const n of left) writeFileSync(nameOf(n), changes[n]!.text);
  writeFileSync(
    project,
    JSON.stringify({
      extends: './tsconfig.json',
      compilerOptions,
      include: ['src/*.ts', 'src/*/*.ts', 'actors/*/*.ts'],
    }),
  );
  // while a file has errors of syntax, only those are told: the types are checked in the round without such files
  for (let refused = new Set([-1]); refused.size > 0 && left.size > 0;) {
    const { code, said } = await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', project, '--pretty', 'false']);
    refused = new Set([...said.matchAll(/^[\w/.-]+\.change-(\d+)\.ts\(/gm)].map(([, n]) => Number(n)));
    if ((code === 0) !== (refused.size === 0) || /^(?![\w/.-]+\.change-)[\w/.-]+\.ts\(/m.test(said))
      throw new Error(`The types do not fit without a change:\n${said}`);
    for (const n of refused) {
      left.delete(n);
      rmSync(nameOf(n));
    }
  }
  return left;
}

/**
 * Puts in the place of a file one that exports what the chosen change exports, or what the file has itself where none
 * is chosen.
 */
function makeChoice(file: string, numbers: readonly number[]): void {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const names = [...text.matchAll(/^export (?:async )?(?:function|const|class) (\w+)/gm)].map(([, name]) => name!);
  const nameOf = (path: string) => `./${path.slice(path.lastIndexOf('/') + 1)}`;
  const plain = file.replace(/\.ts$/, '.plain.ts');
  const paths = numbers.map((n) => `  '${n}': () => import('${nameOf(changedName(file, n))}'),`);
  writeFileSync(join(copy, plain), text);
  writeFileSync(
    join(copy, file),
    [
      `const changes: Record<string, () => Promise<any>> = {\n${paths.join('\n')}\n};`,
      `const chosen = await (changes[process.env['${CHOICE}'] ?? ''] ?? (() => import('${nameOf(plain)}')))();`,
      ...names.map((name) => `export const ${name} = chosen.${name};`),
      '',
    ].join('\n'),
  );
}

/** The test files that should notice a change, the likeliest first, in the rounds in which they are asked. */
function roundsOf(
  change: Change,
  settings: (path: string) => string[],
  texts: ReadonlyMap<string, string>,
): string[][] {
  const all = [...texts.keys()];
  const small = (files: readonly string[]) => files.toSorted((a, b) => texts.get(a)!.length - texts.get(b)!.length);
  const names = [...new Set(change.passedOn.flatMap(settings))];
  const mention = (file: string) =>
    names.length < 40 && names.some((name) => new RegExp(`\\b${name}\\b`).test(texts.get(file)!));
  const isTable = (file: string) => file.includes('/settings-effect.');
  const hasRow = (file: string) =>
    names.length < 40 &&
    names.some((name) => new RegExp(String.raw`effect\(\s*\[[^\]]*'${name}'`).test(texts.get(file)!));
  const startingWith = (beginnings: readonly string[]) =>
    beginnings.flatMap((beginning) =>
      small(all.filter((file) => `/${file}`.includes(`/${beginning.replace(/^\//, '')}`))),
    );
  const beginnings = [
    ...(SHOWN_BY[change.room ?? ''] ??
      (change.room === undefined
        ? []
        : change.room.endsWith('Wing')
          ? [`${change.room.slice(0, -4).toLowerCase()}/`]
          : [`/${change.room.toLowerCase()}.`])),
    ...change.words.filter((word) => word.length > 3).map((word) => `/${word}.`),
  ];
  const isSweep = change.options.includes('everyMs');
  const files = [
    // the longest name says most: `startSender` more than `workers`
    ...startingWith(
      change.options.toSorted((a, b) => b.length - a.length).flatMap((option) => OPTION_SHOWN_BY[option] ?? []),
    ),
    ...startingWith(
      change.options.some((option) => option.endsWith('Retention')) ? ['operations/retention.report'] : [],
    ),
    ...all.filter((file) => isSweep && isTable(file) && texts.get(file)!.includes('context.sweeps')),
    ...all.filter((file) => isTable(file) && hasRow(file)),
    ...all.filter((file) => isTable(file) && mention(file)),
    ...small(all.filter((file) => !isTable(file) && mention(file))).slice(0, 3),
    ...startingWith(FILE_SHOWN_BY[change.file] ?? []),
    ...startingWith(beginnings),
    ...all.filter((file) => isTable(file) || mention(file)),
    ...all.filter((file) => EVERYWHERE.test(file)),
  ];
  const ordered = [...new Set(files)];
  return [ordered.slice(0, 1), ordered.slice(1, 4), ordered.slice(4, 9), ordered.slice(9)].filter(
    (round) => round.length > 0,
  );
}

const copy = mkdtempSync(join(tmpdir(), 'rookery-wiring-'));
try {
  const SKIP = /^(\.git|\.data|\.cache|node_modules|coverage)$/;
  cpSync(ROOT, copy, {
    recursive: true,
    filter: (path) => !SKIP.test(path.slice(ROOT.length)) && !path.endsWith('/node_modules'),
  });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const changes = FILES.filter((file) => values.file === undefined || file === values.file).flatMap(changesOf);
  const chosen = [...changes.keys()].filter(
    (n) => n + 1 >= Number(values.from) && (only === undefined || only.includes(n + 1)),
  );
  const compile = await compiling(changes, chosen);
  say(
    `${changes.length} changes, ${chosen.length} asked about; the types notice ${chosen.length - compile.size} of them:`,
  );
  for (const n of chosen) if (!compile.has(n)) say(`${n + 1} types  ${changes[n]!.name}`);
  const settings = settingsAt();
  const texts = new Map(
    readdirSync(join(ROOT, TESTS), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.ts'))
      .filter((file) => (wantedTests ? wantedTests.test(file) : !/\.peer\.test|\/dapr\./.test(file)))
      .map((file) => [file, readFileSync(join(ROOT, TESTS, file), 'utf8')]),
  );
  for (const file of FILES)
    makeChoice(
      file,
      [...compile].filter((n) => changes[n]!.file === file),
    );

  const asked = [...compile];
  const rounds = new Map(
    asked.map((n) => [n, wantedTests ? [[...texts.keys()]] : roundsOf(changes[n]!, settings, texts)]),
  );
  if (values.types)
    for (const n of asked)
      say(
        `${n + 1} compiles  ${changes[n]!.name}  <- ${rounds
          .get(n)!
          .map((files) => files.join(' '))
          .join(' | ')}`,
      );

  const noticed = new Map<number, string>();
  for (let round = 0; !values.types && round < Number(values.rounds); round += 1) {
    const pairs = asked
      .filter((n) => !noticed.has(n))
      .flatMap((n) => (rounds.get(n)![round] ?? []).map((file) => ({ n, file })));
    if (pairs.length === 0) continue;
    const plain = [...new Set(pairs.map(({ file }) => file))];
    say(`round ${round + 1}: ${plain.length} test files, ${pairs.length} times with a change`);
    const nameOf = (n: number, file: string) => `${dirname(file)}/change-${n}.${basename(file)}`;
    for (const { n, file } of pairs)
      writeFileSync(
        join(copy, TESTS, nameOf(n, file)),
        `process.env['${CHOICE}'] = '${n}';\nawait import('./${basename(file)}');\n`,
      );
    const left = new Set([...plain, ...pairs.map(({ n, file }) => nameOf(n, file))]);
    /** Titles of what fails in a file without a change, once that file has ended: they notice nothing. */
    const broken = new Map<string, Set<string>>();
    let failing: { n?: number; file: string } | undefined;
    const note = ({ n, file }: { n: number; file: string }, why = '') => {
      if (!noticed.has(n)) say(`${n + 1} ${file}${why}  ${changes[n]!.name}`);
      noticed.set(n, `${file}${why}`);
    };
    // files without a change first; below the line of a file that failed jest writes the titles of what failed in it
    for (const files of [plain, pairs.map(({ n, file }) => nameOf(n, file))])
      await run(
        process.execPath,
        [
          'node_modules/jest/bin/jest.js',
          '--maxWorkers',
          values.workers,
          '--workerIdleMemoryLimit=2', // bytes: a new worker for each file, as modules are loaded once, with the first choice
          '--forceExit',
          '--runTestsByPath',
          ...files.map((file) => `${TESTS}/${file}`),
        ],
        (line) => {
          if (line.includes('must contain at least one test')) throw new Error(`A worker was used twice:\n${line}`);
          const [, verdict, folder = '', number, name = ''] =
            /^(PASS|FAIL) .*test\/integration\/((?:[\w-]+\/)+)(?:change-(\d+)\.)?([\w.-]+\.test\.ts)/.exec(line) ?? [];
          const file = folder + name;
          if (verdict !== undefined) {
            left.delete(number === undefined ? file : nameOf(Number(number), file));
            if (number === undefined && !broken.has(file)) broken.set(file, new Set());
            failing = verdict === 'FAIL' ? { file, ...(number !== undefined && { n: Number(number) }) } : undefined;
          }
          const [, title] = /^ {2}● (.+)$/.exec(line) ?? [];
          if (title === undefined || title === 'Console' || failing === undefined) return;
          const anyway = broken.get(failing.file);
          if (failing.n !== undefined) {
            if (anyway?.has(title) === false) note({ n: failing.n, file: failing.file }, ` "${title}"`);
          } else if (anyway?.has(title) === false) {
            anyway.add(title);
            say(`  fails without a change, and is not believed: ${failing.file} "${title}"`);
          }
        },
      );
    for (const { n, file } of pairs) {
      if (left.has(nameOf(n, file)) && broken.has(file)) note({ n, file }, ' (no end)');
      rmSync(join(copy, TESTS, nameOf(n, file)));
    }
  }
  if (!values.types) {
    const survivors = asked.filter((n) => !noticed.has(n));
    say(
      `\n${chosen.length} changes: ${chosen.length - compile.size} noticed by the types, ${noticed.size} of ${asked.length} by tests, ${survivors.length} survivors`,
    );
    for (const n of survivors) say(`${n + 1} SURVIVES  ${changes[n]!.name}`);
    process.exitCode = survivors.length > 0 ? 1 : 0;
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}

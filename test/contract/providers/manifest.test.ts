import { describe, expect, test } from '@jest/globals';
import { readdir, readFile } from 'node:fs/promises';
import { Documents, DOMAINS } from '../../../src/providers/registry/index.ts';
import { adapters } from '../../../src/providers/registry/registry.gen.ts';
import { manifestChecks } from '../../support/peers/suites/provider.ts';
import { localProviders } from '../../support/worlds/providers.ts';

const SOURCES = new URL('../../../src/providers/', import.meta.url);
const FIXTURES = new URL('../../fixtures/providers/', import.meta.url);
/** Written by us: nobody else's document says what they do. */
const OURS = new Set(['auth/local', 'social/sandbox', 'storage/local']);
const nameOf = ({ domain, id, version }: (typeof adapters)[number]) => `${domain}/${id}@${version}`;

describe.each(adapters.map((adapter) => ({ name: nameOf(adapter), adapter })))('$name', ({ adapter }) => {
  for (const { name, run } of manifestChecks(adapter)) test(name, run);
});

test('a version is registered once, in the folder of one of nine domains [PV1, VE14]', async () => {
  expect(new Set(adapters.map(nameOf)).size).toBe(adapters.length);
  const folders = (await readdir(SOURCES, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const filled = await Promise.all(
    folders.map(async (folder) =>
      (await readdir(new URL(`${folder}/`, SOURCES))).some((file) => /\.v\d+\.ts$/.test(file)) ? folder : [],
    ),
  );
  expect(DOMAINS).toEqual(expect.arrayContaining(filled.flat()));
  expect(DOMAINS).toHaveLength(9);
});

test('registered adapters are frozen [VE16]', async () => {
  await using providers = localProviders();
  for (const adapter of providers.list())
    expect([nameOf(adapter), [adapter, adapter.credentials, adapter.capabilities].every(Object.isFrozen)]).toEqual([
      nameOf(adapter),
      true,
    ]);
});

test('every domain with adapters has a contract test that covers all of them', async () => {
  const contracts = await readdir(new URL('./', import.meta.url));
  for (const domain of new Set(adapters.map((adapter) => adapter.domain))) {
    expect(contracts).toContain(`${domain}.test.ts`);
    expect(await readFile(new URL(`./${domain}.test.ts`, import.meta.url), 'utf8')).toMatch(
      /describeProviders\(|every adapter file is registered/,
    );
  }
});

test('every fixture names its document, and how it was read', async () => {
  const documents = Documents.parse(JSON.parse(await readFile(new URL('documents.json', FIXTURES), 'utf8')));
  const folders = (await readdir(FIXTURES, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const fixtures = await Promise.all(
    folders.map(async (folder) =>
      (await readdir(new URL(`${folder}/`, FIXTURES)))
        .filter((file) => /^[^_].*\.ts$/.test(file))
        .map((file) => `${folder.replace('social-servers', 'social')}/${file.slice(0, -'.ts'.length)}`),
    ),
  );
  const named = new Set(fixtures.flat());
  expect([...named].filter((name) => !OURS.has(name)).toSorted()).toEqual(Object.keys(documents).toSorted());
});

/** Lines of the adapters of each domain, shortest first. */
const lengths = new Map<string, number[]>();
const linesOf = async (url: URL) => (await readFile(url, 'utf8')).split('\n').length - 1;
for (const { domain, id, version } of adapters) {
  const lines = await linesOf(new URL(`${domain}/${id}.${version}.ts`, SOURCES));
  lengths.set(domain, [...(lengths.get(domain) ?? []), lines]);
}
for (const [domain, unsorted] of lengths) {
  const sorted = unsorted.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)]!;
  process.stderr.write(
    `${domain}: ${sorted.length} adapters: median ${at(0.5)} lines, 90th percentile ${at(0.9)}, longest ${at(1)}\n`,
  );
}

test('networks have at most 200 lines in a file, half of them at most 60, and nine of ten at most 130', async () => {
  const folder = new URL('social/', SOURCES);
  const files = (await readdir(folder)).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  const counted = await Promise.all(files.map(async (name) => ({ name, lines: await linesOf(new URL(name, folder)) })));
  expect(counted.filter(({ lines }) => lines > 200)).toEqual([]);
  const networks = counted.filter(({ name }) => /\.v\d+\.ts$/.test(name));
  const within = (most: number) => networks.filter(({ lines }) => lines <= most).length / networks.length;
  expect(networks.length).toBeGreaterThan(35);
  expect(within(60)).toBeGreaterThanOrEqual(0.5);
  expect(within(130)).toBeGreaterThanOrEqual(0.9);
});

test('169 are registered, as many in each domain as the specification has, beside those that a setting adds [PV2]', () => {
  const registered = adapters.filter(({ optional }) => optional === undefined);
  const counts = DOMAINS.map((domain) => [domain, registered.filter((one) => one.domain === domain).length]);
  expect(Object.fromEntries(counts)).toEqual({
    ai: 30,
    auth: 6,
    contentpack: 4,
    email: 7,
    media: 36,
    shortlink: 20,
    social: 36,
    storage: 14,
    vpn: 16,
  });
  expect(registered).toHaveLength(169);
  expect(registered.filter(({ version }) => version !== 'v1')).toEqual([]);
  const added = adapters.filter(({ optional }) => optional !== undefined);
  expect(added.map(nameOf).toSorted()).toEqual([
    'auth/facebook@v1',
    'auth/linkedin@v1',
    'auth/x@v1',
    'social/sandbox@v1',
  ]);
});

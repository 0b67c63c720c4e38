import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { type Fields, secret, text } from '../kit/declare/fields.ts';
import { catalogEntryOf } from './catalog-entry.ts';
import { chooseVersion, checkSettings, immutable, lifecycleOf, readFields } from './rules.ts';
import { generateRegistry, REGISTRY_FILE } from './generate.ts';
import { readFile } from 'node:fs/promises';
import { type SocialAdapter, social } from '../social/_contract.ts';

const adapterOf = (version: `v${number}`, status: NonNullable<SocialAdapter['status']>): SocialAdapter =>
  social({
    id: 'demo',
    version,
    status,
    title: 'Demo',
    description: 'Demo',
    authType: 'api_key',
    credentials: {},
    api: 'https://demo.example',
    once: 'at-most-once',
    threads: 'none',
    login: { kind: 'credentials' },
    limits: { text: 1, unit: 'characters', media: 0, mediaTypes: [] },
    settings: z.object({ mode: z.enum(['a', 'b']).optional() }),
    profile: async () => ({ id: '1', name: 'n', handle: 'h' }),
    publish: async () => ({ id: '1', url: 'https://demo.example/1' }),
  });
const NOW = new Date('2026-11-21T00:00:00Z');
const all = [
  adapterOf('v1', 'retired'),
  adapterOf('v2', 'deprecated'),
  adapterOf('v3', 'active'),
  adapterOf('v10', 'preview'),
];
const choose = (options: Parameters<typeof chooseVersion>[3], from = all) => {
  try {
    return chooseVersion(from, 'social', 'demo', options, NOW).version;
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe('chooseVersion', () => {
  test.each([
    [{}, 'v3'],
    [{ version: 'v3' }, 'v3'],
    [{ version: 'v4' }, 'unknown_version'],
    [{ version: 'v1' }, 'version_retired'],
    [{ version: 'v1', use: 'pinned' as const }, 'version_retired'],
    [{ version: 'v2' }, 'version_deprecated'],
    [{ version: 'v2', use: 'pinned' as const }, 'v2'],
    [{ version: 'v10' }, 'preview_not_allowed'],
    [{ version: 'v10', allowPreview: true }, 'v10'],
    [{ version: 'v10', use: 'pinned' as const }, 'v10'],
    [{ version: 'v1', use: 'edit' as const }, 'version_retired'],
    [{ version: 'v2', use: 'edit' as const }, 'v2'],
    [{ version: 'v10', use: 'edit' as const }, 'preview_not_allowed'],
    [{ version: 'v10', use: 'edit' as const, allowPreview: true }, 'v10'],
  ])('%j is %s [S158]', (options, expected) => {
    expect(choose(options)).toBe(expected);
  });

  test('a version is a preview, active, deprecated or retired [VE1]', () => {
    expect(all.map((one) => lifecycleOf(one, all, NOW))).toEqual(['retired', 'deprecated', 'active', 'preview']);
  });

  test('chooses the newest active version when none is named, else a preview, else none [S159]', () => {
    expect(choose({}, [...all, adapterOf('v9', 'active')])).toBe('v9');
    expect(choose({}, [all[3]!])).toBe('preview_not_allowed');
    expect(choose({}, [all[0]!, all[1]!])).toBe('unknown_version');
    expect(() => chooseVersion(all, 'social', 'nobody', {}, NOW)).toThrow(
      expect.objectContaining({ code: 'unknown_version', status: 400 }),
    );
  });
});

describe('lifecycleOf', () => {
  const active = (version: `v${number}`, more: Partial<SocialAdapter> = {}) =>
    ({ ...adapterOf(version, 'active'), ...more }) as SocialAdapter;
  const statusOf = (one: SocialAdapter, among: SocialAdapter[] = [one]) => lifecycleOf(one, among, NOW);

  test('every new version is a preview until it declares active [VE2, VE3]', () => {
    const started = (version: `v${number}`): SocialAdapter => {
      const { status: _, ...rest } = adapterOf(version, 'active');
      return rest as SocialAdapter;
    };
    const [first, next] = [started('v1'), started('v2')];
    expect([statusOf(first), statusOf(next)]).toEqual(['preview', 'preview']);
    expect(choose({}, [first])).toBe('preview_not_allowed');
    expect(choose({ allowPreview: true }, [first])).toBe('v1');
    const released = adapterOf('v1', 'active');
    expect(choose({}, [released, next])).toBe('v1');
    expect(choose({ version: 'v2' }, [released, next])).toBe('preview_not_allowed');
    expect(choose({}, [released, adapterOf('v2', 'active')])).toBe('v2');
  });

  test('an active version is deprecated by a newer active one, not by a preview [VE4]', () => {
    const old = active('v2');
    expect(statusOf(old, [old, adapterOf('v10', 'preview')])).toBe('active');
    expect(statusOf(old, [old, active('v10')])).toBe('deprecated');
    expect(statusOf(old, [old, active('v1'), active('v10', { id: 'other' })])).toBe('active');
    expect(choose({ version: 'v2' }, [old, active('v10')])).toBe('version_deprecated');
    expect(choose({ version: 'v2', use: 'pinned' }, [old, active('v10')])).toBe('v2');
    expect(choose({}, [old, active('v10')])).toBe('v10');
  });

  test('a version is retired at its sunset, not before [VE5, VE20]', () => {
    const leaving = (sunsetAt: string) => ({ ...adapterOf('v1', 'deprecated'), sunsetAt }) as SocialAdapter;
    expect(statusOf(leaving('2026-11-22'))).toBe('deprecated');
    expect(statusOf(leaving('2026-11-21'))).toBe('retired');
    expect(choose({ version: 'v1', use: 'pinned' }, [leaving('2026-11-21')])).toBe('version_retired');
    expect(statusOf(active('v1', { sunsetAt: '2026-11-21' }))).toBe('retired');
    expect(statusOf(active('v1', { status: 'preview', sunsetAt: '2026-11-21' }))).toBe('preview');
  });
});

test('the catalog shows the dates of a deprecated version, and null without one [VE20]', () => {
  const leaving = {
    ...adapterOf('v1', 'deprecated'),
    deprecatedAt: '2026-11-01',
    sunsetAt: '2027-05-01',
  } as SocialAdapter;
  expect(catalogEntryOf(leaving, 'deprecated')).toMatchObject({
    status: 'deprecated',
    deprecatedAt: '2026-11-01',
    sunsetAt: '2027-05-01',
  });
  expect(catalogEntryOf(adapterOf('v1', 'active'), 'active')).toMatchObject({ deprecatedAt: null, sunsetAt: null });
});

test('immutable freezes the declaration of an adapter [VE16]', () => {
  const adapter = immutable({ ...adapterOf('v1', 'active'), credentials: { key: secret('Key') } } as SocialAdapter);
  for (const write of [
    () => Object.assign(adapter, { api: 'https://evil.example' }),
    () => Object.assign(adapter.credentials, { more: secret('More') }),
    () => Object.assign(adapter.credentials['key']!, { secret: false }),
    () => (adapter.capabilities as string[]).push('erase'),
    () => Object.assign(adapter.facts!, { once: 'key' }),
  ])
    expect(write).toThrow(TypeError);
  expect(adapter.publish).toBeInstanceOf(Function);
});

describe('readFields', () => {
  const fields = {
    server: text('Server', { form: 'origin', default: 'https://home.example' }),
    name: text('Name', { validation: '[a-z]+' }),
    kind: text('Kind', { required: false, options: [{ value: 'a', label: 'A' }] }),
    key: secret('Key'),
  };
  test('fills in defaults, trims, and completes addresses', () => {
    expect(readFields(fields, { name: ' bob ', key: ' k ' })).toEqual({
      server: 'https://home.example',
      name: 'bob',
      key: ' k ',
    });
    expect(readFields(fields, { name: 'bob', key: '\r\n k k \n' })['key']).toBe(' k k ');
    expect(readFields(fields, { name: 'bob', key: 'a file\nof lines\n' })['key']).toBe('a file\nof lines\n');
    for (const [typed, origin] of [
      ['social.example', 'https://social.example'],
      ['https://Social.example/@me?x', 'https://social.example'],
      ['http://127.0.0.1:80/', 'http://127.0.0.1'],
    ])
      expect(readFields(fields, { name: 'bob', key: 'k', server: typed })['server']).toBe(origin);
  });

  test('keeps the folder of a site, without slashes at its end', () => {
    for (const [typed, site] of [
      ['blog.example', 'https://blog.example'],
      ['https://Blog.example//', 'https://blog.example'],
      [' blog.example/Team/news/ ', 'https://blog.example/Team/news'],
      ['http://127.0.0.1:8080/team//?p=1#top', 'http://127.0.0.1:8080/team'],
    ])
      expect(readFields({ site: text('Site', { form: 'site' }) }, { site: typed })).toEqual({ site });
    for (const wrong of ['ftp://blog.example/team', '/team', 'ann:secret@blog.example/team'])
      expect(() => readFields({ site: text('Site', { form: 'site' }) }, { site: wrong })).toThrow(
        'must be the address of a server',
      );
  });

  test('refuses a server with another scheme', () => {
    const wrong = [
      'file:///etc/passwd',
      'gopher://a.example:6379/_INFO',
      'ftp://a.example',
      'mailto:a@a.example',
      'https:/\\a.example',
      'https:///a.example',
      '//a.example',
    ];
    for (const server of wrong)
      expect(() => readFields(fields, { name: 'bob', key: 'k', server })).toThrow('must be the address of a server');
    for (const server of ['a.example:8443', 'HTTPS://a.example:8443', 'localhost:8443'])
      expect(readFields(fields, { name: 'bob', key: 'k', server })['server']).toMatch(
        /^https:\/\/(a\.example|localhost):8443$/,
      );
  });

  test('checks the length of a value before its form', () => {
    const typed = (form: Fields, name: string) => () => readFields(form, { name });
    const line = { name: text('Name', { validation: '(?:a+)+' }) };
    expect(typed(line, 'a'.repeat(4_096))()).toEqual({ name: 'a'.repeat(4_096) });
    expect(typed(line, `${'a'.repeat(4_096)}!`)).toThrow('Name: has more than 4096 characters');
    const file = { name: secret('File', { maxLength: 5_000 }) };
    expect(typed(file, 'a'.repeat(5_000))()).toEqual({ name: 'a'.repeat(5_000) });
    expect(typed(file, 'a'.repeat(5_001))).toThrow('File: has more than 5000 characters');
  });

  test('reports every fault', () => {
    const faults = (input: Record<string, unknown>) => {
      try {
        return readFields(fields, input, 'fields.');
      } catch (error) {
        return (error as { extra: { errors: { field: string; rule: string }[] } }).extra.errors.map(
          ({ field, rule }) => `${field} ${rule}`,
        );
      }
    };
    expect(faults({})).toEqual(['fields.name required', 'fields.key required']);
    expect(faults({ name: 'B0B', key: 7, kind: 'z', server: 'user:pass@x', extra: 1 })).toEqual([
      'fields.extra unknown',
      'fields.server invalid_format',
      'fields.name invalid_format',
      'fields.kind invalid_value',
      'fields.key invalid_type',
    ]);
    const inherited = Object.entries({ constructor: 'x', toString: 'x' }).map(([name, value]) =>
      faults({ name: 'bob', key: 'k', [name]: value }),
    );
    expect(inherited).toEqual([['fields.constructor unknown'], ['fields.toString unknown']]);
    expect(faults(JSON.parse('{"name":"bob","key":"k","__proto__":"x"}') as Record<string, unknown>)).toEqual([
      'fields.__proto__ unknown',
    ]);
  });
});

test('checkSettings refuses a wrong value of a known setting by name, and ignores unknown ones', () => {
  const adapter = all[2]!;
  expect(() => checkSettings(adapter, { __type: 'x', invented: 1, mode: 'a' })).not.toThrow();
  expect(() => checkSettings(adapter, { mode: 'c' })).toThrow(
    expect.objectContaining({ extra: { errors: [expect.objectContaining({ field: 'settings.mode' })] } }),
  );
});

test('registry.gen.ts lists the adapter files', async () => {
  expect(await readFile(REGISTRY_FILE, 'utf8')).toBe(await generateRegistry());
});

import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { secret, text } from './kit/fields.ts';
import { chooseVersion, checkSettings, readFields } from './rules.ts';
import { generateRegistry, REGISTRY_FILE } from './generate.ts';
import { readFile } from 'node:fs/promises';
import { type SocialAdapter, social } from './social/_contract.ts';

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
    login: { kind: 'credentials' },
    limits: { text: 1, unit: 'characters', media: 0, mediaTypes: [] },
    settings: z.object({ mode: z.enum(['a', 'b']).optional() }),
    profile: async () => ({ id: '1', name: 'n', handle: 'h' }),
    publish: async () => ({ id: '1', url: 'https://demo.example/1' }),
  });
const all = [adapterOf('v1', 'retired'), adapterOf('v2', 'deprecated'), adapterOf('v3', 'active'), adapterOf('v10', 'preview')];
const choose = (options: Parameters<typeof chooseVersion>[3], from = all) => {
  try {
    return chooseVersion(from, 'social', 'demo', options).version;
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
  ])('%j is %s [S158]', (options, expected) => {
    expect(choose(options)).toBe(expected);
  });

  test('without a version the newest active one is meant, else a preview, else none [S159]', () => {
    expect(choose({}, [...all, adapterOf('v9', 'active')])).toBe('v9');
    expect(choose({}, [all[3]!])).toBe('preview_not_allowed');
    expect(choose({}, [all[0]!, all[1]!])).toBe('unknown_version');
    expect(() => chooseVersion(all, 'social', 'nobody', {})).toThrow(expect.objectContaining({ code: 'unknown_version', status: 400 }));
  });
});

describe('readFields', () => {
  const fields = {
    server: text('Server', { form: 'origin', default: 'https://home.example' }),
    name: text('Name', { validation: '[a-z]+' }),
    kind: text('Kind', { required: false, options: [{ value: 'a', label: 'A' }] }),
    key: secret('Key'),
  };
  test('fills defaults, trims, and makes addresses whole', () => {
    expect(readFields(fields, { name: ' bob ', key: ' k ' })).toEqual({ server: 'https://home.example', name: 'bob', key: ' k ' });
    for (const [typed, origin] of [
      ['social.example', 'https://social.example'],
      ['https://Social.example/@me?x', 'https://social.example'],
      ['http://127.0.0.1:80/', 'http://127.0.0.1'],
    ])
      expect(readFields(fields, { name: 'bob', key: 'k', server: typed })['server']).toBe(origin);
  });

  test('names every fault', () => {
    const faults = (input: Record<string, unknown>) => {
      try {
        return readFields(fields, input, 'fields.');
      } catch (error) {
        return (error as { extra: { errors: { field: string; rule: string }[] } }).extra.errors.map(({ field, rule }) => `${field} ${rule}`);
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
  });
});

test('a wrong value of a known setting is refused by name, an unknown setting passes', () => {
  const adapter = all[2]!;
  expect(() => checkSettings(adapter, { __type: 'x', invented: 1, mode: 'a' })).not.toThrow();
  expect(() => checkSettings(adapter, { mode: 'c' })).toThrow(
    expect.objectContaining({ extra: { errors: [expect.objectContaining({ field: 'settings.mode' })] } }),
  );
});

test('the registry is what the folder holds', async () => {
  expect(await readFile(REGISTRY_FILE, 'utf8')).toBe(await generateRegistry());
});

import { describe, expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { readConfig } from '../../../src/platform/config/index.ts';
import type { Setting } from '../../../src/platform/config/kinds.ts';
import { NETWORK_APPS } from '../../../src/platform/config/network-apps.ts';
import { SETTINGS } from '../../../src/platform/config/settings.ts';
import { adapters } from '../../../src/providers/registry/registry.gen.ts';
import { JWT_SECRET } from '../../support/worlds/app.ts';
import { ELSEWHERE, SHOWN_IN } from '../../support/worlds/settings/settings-table.ts';

// The settings that are shown, against those that there are.

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The app variables that no registered network uses, and no login of people. */
const ofMissingNetworks = (): string[] =>
  NETWORK_APPS.filter(
    ({ providers }) => !adapters.some(({ domain, id }) => domain === 'social' && isOneOf(providers, id)),
  ).flatMap((app) =>
    Object.entries(app.settings)
      .filter(([, [field]]) => !('login' in app && field.startsWith('client')))
      .map(([name]) => name),
  );
/** The secrets of apps that need none: read and unused, which their meaning says. */
const ofPublicApps = (): string[] =>
  NETWORK_APPS.flatMap((app) => ('publicApp' in app ? Object.entries(app.settings) : []))
    .filter(([, [field]]) => field === 'clientSecret')
    .map(([name]) => name);
const isOneOf = (names: readonly string[], name: string) => names.includes(name);

describe('the table of settings', () => {
  const settings = SETTINGS as Record<string, Setting<unknown>>;
  const marked = [
    ...Object.keys(settings).filter((name) => settings[name]!.later !== undefined),
    ...ofMissingNetworks(),
    ...ofPublicApps(),
  ];

  test('has every setting that is not marked as later work, and no other', () => {
    const seen: readonly string[] = [...Object.values(SHOWN_IN).flat(), ...Object.keys(ELSEWHERE)];
    expect(Object.keys(settings).filter((name) => !seen.includes(name) && !marked.includes(name))).toEqual([]);
    expect(marked.filter((name) => seen.includes(name))).toEqual([]);
    const files = readdirSync('test/integration/operations').filter((file) => /^settings-effect\.(?!table)/.test(file));
    expect(files.toSorted()).toEqual(
      Object.keys(SHOWN_IN)
        .map((name) => `settings-effect.${name}.test.ts`)
        .toSorted(),
    );
    for (const name of Object.keys(SHOWN_IN))
      expect(readFileSync(`test/integration/operations/settings-effect.${name}.test.ts`, 'utf8')).toContain(
        `const effect = effectsOf('${name}');`,
      );
    for (const [file, title] of Object.values(ELSEWHERE))
      expect([file, readFileSync(file, 'utf8').includes(`test('${title}`)]).toEqual([file, true]);
  });

  test('settings marked as later work are read by the configuration only', () => {
    const other = ({ type, fallback }: Setting<unknown>): string => {
      if (typeof fallback === 'number') return String(fallback + 1);
      return type === 'true or false' ? String(!fallback) : type === 'URL' ? 'https://other.example' : 'other';
    };
    const usual = readConfig({ JWT_SECRET }).config;
    const changed = readConfig({
      JWT_SECRET,
      ...Object.fromEntries(marked.map((name) => [name, other(settings[name]!)])),
    }).config;
    const paths = (a: unknown, b: unknown, path: string[] = []): string[][] =>
      isObject(b) && path.join() !== 'social,apps'
        ? Object.keys(b).flatMap((key) => paths(isObject(a) ? a[key] : undefined, b[key], [...path, key]))
        : isDeepStrictEqual(a, b)
          ? []
          : [path];
    const found = paths(usual, changed);
    expect(paths({ a: { b: 1, c: 1 } }, { a: { b: 2, c: 1 } })).toEqual([['a', 'b']]);

    const registered = adapters.map(({ domain, id }) => `${domain}/${id}`);
    expect(Object.keys(changed.social.apps).filter((id) => registered.includes(`social/${id}`))).toEqual([]);
    const sources = ['src', 'api', 'actors', 'sandbox', 'dapr', '.'].flatMap((root) =>
      readdirSync(root, { recursive: root !== '.', encoding: 'utf8' })
        .filter(
          (file) =>
            file.endsWith('.ts') &&
            !file.endsWith('.test.ts') &&
            !(root === 'src' && file.startsWith('platform/config/')),
        )
        .map((file) => readFileSync(join(root, file), 'utf8')),
    );
    const readers = found.filter((path) => {
      const [section = '', key = ''] = [path[0], path.at(-1)];
      const reads = new RegExp(
        String.raw`\b${section}\.${key}\b|\b${key}\b[^;\n]*= config\.${section}\b|\b${section}: \{[^}]*\b${key}\b[^}]*\}`,
      );
      return path.join() !== 'social,apps' && sources.some((text) => reads.test(text));
    });
    expect(readers).toEqual([]);
  });
});

import { expect, test } from '@jest/globals';
import { existsSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { adapters } from '../../../src/providers/registry/registry.gen.ts';
import { AI_DESCRIBED, MEDIA_DESCRIBED } from '../../fixtures/providers/ai-described.ts';
import { PROOFS } from '../../fixtures/providers/proofs.ts';
import { NETWORKS_DESCRIBED } from '../../fixtures/providers/social-described.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const ids = new Set(adapters.map(({ id }) => id));
/** Ids that are words of other things, too. */
const WORDS = new Set(['local', 'x']);
/** Providers that a test of peers names, and does not try against one. */
const ASIDE: Readonly<Record<string, readonly string[]>> = {
  'test/contract/providers/email.test.ts': ['empty', 'mailgun', 'postmark', 'resend', 'sendgrid', 'ses'],
};

/** The providers that a test names, as literals. */
const namedIn = (text: string): string[] =>
  [...new Set([...text.matchAll(/'([a-z0-9_-]+)'/g)].map(([, word]) => word!))].filter(
    (word) => ids.has(word) && !WORDS.has(word),
  );

test('every proof names a registered provider', () => {
  const known = new Set(adapters.map(({ domain, id }) => `${domain}/${id}`));
  expect(PROOFS.filter(({ name }) => !known.has(name))).toEqual([]);
});

test('a test of peers is the proof of the providers that it names, and of no other', async () => {
  const found: Record<string, string[]> = {};
  for await (const file of glob('test/{contract/providers,integration}/**/*.test.ts', { cwd: ROOT })) {
    const text = await readFile(ROOT + file, 'utf8');
    if (!/\bawait describePeer\(/.test(text)) continue;
    const named = namedIn(text).filter((id) => !ASIDE[file]?.includes(id));
    if (named.length > 0) found[file] = named.toSorted();
  }
  const told: Record<string, string[]> = {};
  for (const { name, in: file } of PROOFS.filter(({ in: one }) => !/(documents|oracles?)\.test\.ts$/.test(one)))
    told[file] = [...new Set([...(told[file] ?? []), name.split('/')[1]!])].toSorted();
  expect(told).toEqual(found);
});

test('documents and clients are proofs where a test goes through the list of them', async () => {
  const lists = {
    'test/contract/providers/social/documents.test.ts': 'describe.each(NETWORKS_DESCRIBED)',
    'test/contract/providers/ai-documents.test.ts': 'describe.each(AI_DESCRIBED)',
    'test/contract/providers/media-documents.test.ts': 'describe.each(MEDIA_DESCRIBED)',
    'test/contract/providers/social/oracle.test.ts': 'test.each(ORACLES)',
    'test/contract/providers/ai-oracles.test.ts': 'test.each(VENDOR_ORACLES)',
  };
  const told = new Set(
    PROOFS.map(({ in: file }) => file).filter((file) => /(documents|oracles?)\.test\.ts$/.test(file)),
  );
  expect([...told].toSorted()).toEqual(Object.keys(lists).toSorted());
  for (const [file, list] of Object.entries(lists)) expect(await readFile(ROOT + file, 'utf8')).toContain(list);
});

test('a document that whoever runs the tests has to give is no proof', () => {
  const apart = [...NETWORKS_DESCRIBED, ...AI_DESCRIBED, ...MEDIA_DESCRIBED].filter(({ isApart }) => isApart);
  expect(apart.length).toBeGreaterThan(5);
  const proving = new Set(PROOFS.filter(({ kind }) => kind === 'D').map(({ by }) => by));
  expect(apart.filter(({ document }) => proving.has(document))).toEqual([]);
});

const SHIPPED = new URL('../../../../shared/openapi/', import.meta.url);
(existsSync(SHIPPED) ? test : test.skip)('every other document lies beside the checkout', () => {
  const shipped = [...NETWORKS_DESCRIBED, ...AI_DESCRIBED, ...MEDIA_DESCRIBED].filter(({ isApart }) => !isApart);
  expect(shipped.filter(({ operations }) => operations() === undefined).map(({ document }) => document)).toEqual([]);
});

import { expect, test } from '@jest/globals';
import { glob, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { adapters } from '../../../src/providers/registry/registry.gen.ts';

// Networks differ by what they declare: nothing outside its own file asks for a provider by its name.

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const ids = new Set(adapters.map(({ id }) => id));
/** By file: the words that are compared there and name no provider, or one of ours. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  'api/resources/auth/shape.ts': ['local'], // an account with a password
  'src/operations/cli/demo.ts': ['sandbox'], // the demonstration posts to our own network alone
  'src/operations/sandbox/store.ts': ['sandbox'], // the ledger of our own network
  'src/people/auth/login.ts': ['local'], // an account with a password
  'src/platform/kernel/validation-words.ts': ['custom'], // a code of zod
  'src/providers/registry/service.ts': ['sandbox'], // the kind of an optional adapter
};

const WORD = String.raw`['"\x60]([\w-]+)['"\x60]`;
const CONDITIONS = [
  String.raw`[!=]==?\s*${WORD}`,
  String.raw`${WORD}\s*[!=]==?`,
  String.raw`\bcase\s+${WORD}`,
  String.raw`\.(?:includes|has|startsWith|endsWith|indexOf|test)\(\s*${WORD}`,
  String.raw`\bprovider_id\s*(?:=|<>|!=)\s*${WORD}`,
].map((source) => new RegExp(source, 'g'));
/** Lists that something is looked for in. */
const LISTS = [
  /\[([^\][]*)\]\s*(?:as const)?\)?\s*\.(?:includes|indexOf|some|find)\(/g,
  /new Set(?:<[^>]*>)?\(\[([^\][]*)\]/g,
  /\bprovider_id (?:not )?in \(([^)]*)\)/g,
];

/** The ids of providers that a text compares something with. */
function conditionsIn(text: string): string[] {
  const compared = CONDITIONS.flatMap((pattern) => [...text.matchAll(pattern)].map(([, word]) => word!));
  const listed = LISTS.flatMap((pattern) => [...text.matchAll(pattern)].map(([, list]) => list!)).flatMap((list) =>
    [...list.matchAll(new RegExp(WORD, 'g'))].map(([, word]) => word!),
  );
  return [...new Set([...compared, ...listed])].filter((word) => ids.has(word)).toSorted();
}

test('nothing outside its own file has a condition on the name of a provider', async () => {
  const found: Record<string, string[]> = {};
  for await (const file of glob('{src,api,actors}/**/*.ts', { cwd: ROOT })) {
    if (/\.(test|gen)\.ts$/.test(file)) continue;
    const own = /^src\/providers\/\w+\/([^_/][^/]*)\.v\d+\.ts$/.exec(file)?.[1];
    const named = conditionsIn(await readFile(ROOT + file, 'utf8')).filter((id) => id !== own);
    if (named.length > 0) found[file] = named;
  }
  expect(found).toEqual(ALLOWED);
});

test.each([
  "if (provider === 'bluesky') return 300;",
  "provider !== 'bluesky' && more()",
  "'bluesky' === provider",
  "switch (provider) { case 'bluesky': return 300; }",
  "['mastodon-like', 'bluesky'].includes(provider)",
  "const SHORT = new Set(['bluesky', 'another']);",
  "names.includes('bluesky')",
  "select 1 from channels where provider_id = 'bluesky'",
  "select 1 from channels where provider_id in ('bluesky', 'another')",
])('a condition is noticed in: %s', (text) => {
  expect(conditionsIn(text)).toContain('bluesky');
});

test.each(["id: 'bluesky',", "providers.resolve('social', 'bluesky')", "import './_bluesky-feed.ts';"])(
  'no condition is seen in: %s',
  (text) => {
    expect(conditionsIn(text)).toEqual([]);
  },
);

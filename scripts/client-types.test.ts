import { describe, expect, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { areClientTypesFresh } from './client-types.ts';

const read = async () =>
  JSON.parse(await readFile(new URL('../docs/openapi.gen.json', import.meta.url), 'utf8')) as {
    paths: Record<string, Record<string, { parameters?: object[]; summary?: string }>>;
  };

describe('the types of the TypeScript client', () => {
  test('are those of the OpenAPI document', async () => {
    expect(await areClientTypesFresh(await read())).toBe(true);
  });
  test('are stale after a change of a public route, and not after one of another route', async () => {
    const changed = await read();
    changed.paths['/public/v1/tags']!['get']!.parameters = [{ name: 'color', in: 'query', schema: { type: 'string' } }];
    expect(await areClientTypesFresh(changed)).toBe(false);
    const other = await read();
    other.paths['/user/self']!['get']!.summary = 'Get something else';
    expect(await areClientTypesFresh(other)).toBe(true);
  });
});

import { describe, expect, test } from '@jest/globals';
import { AppError, type ErrorCode } from '../../src/platform/kernel/index.ts';
import type { Admitted, Create } from '../../src/publishing/posts/index.ts';
import { fc } from '../../test/support/properties.ts';
import { admitPosts, type Room } from './admission.ts';

const create = (id: string, roots = 1, items = 0) =>
  ({
    posts: [
      ...Array.from({ length: roots }, (_, n) => ({ id: n === 0 ? id : `${id}.${n}` })),
      ...Array.from({ length: items }, (_, n) => ({ id: `${id}-${n}`, rootPostId: id })),
    ],
    createdBy: 'u',
  }) as unknown as Create;

/**
 * Rows of one org in memory, with the commit's condition as the statement has it; `behind` happens before a commit, as
 * another host would.
 */
function world({ max, used = 0 }: { max: number; used?: number }) {
  const rows = { max, used, version: 0, ids: new Set<string>(), looks: 0, commits: 0 };
  let behind: (() => void) | undefined;
  const quota = () => ({
    entitlementVersion: String(rows.version),
    anchor: new Date(0),
    monthStart: new Date(0),
    until: new Date(1),
    max: rows.max,
    used: rows.used,
  });
  return {
    rows,
    quota,
    before: (happens: () => void) => void (behind = happens),
    needs: {
      billing: { enabled: true, quota: async () => ((rows.looks += 1), quota()) },
      posts: {
        findKnownPosts: async (_: string, ids: readonly string[]) => new Set(ids.filter((id) => rows.ids.has(id))),
        async admitPosts(
          _: string,
          creates: readonly Create[],
          asked?: { entitlementVersion: string; max: number },
        ): Promise<Admitted[]> {
          behind?.();
          rows.commits += 1;
          const rootsOf = ({ posts }: Create) => posts.filter(({ rootPostId }) => rootPostId === undefined).length;
          const wanted = creates.reduce((sum, one) => sum + rootsOf(one), 0);
          if (asked!.entitlementVersion !== String(rows.version) || rows.used + wanted > asked!.max)
            return creates.map(() => ({ stale: true }));
          for (const one of creates) {
            if (rows.ids.has(one.posts[0]!.id)) continue;
            rows.used += rootsOf(one);
            for (const { id } of one.posts) rows.ids.add(id);
          }
          return creates.map(() => ({ used: rows.used }));
        },
      },
    },
  };
}
const codes = (answers: readonly (AppError | undefined)[]): (ErrorCode | 'stored')[] =>
  answers.map((error) => error?.code ?? 'stored');

describe('creates of one turn', () => {
  test('take one look and one commit while there is room, and no further look in the turns after it', async () => {
    const { needs, rows } = world({ max: 10 });
    const room: Room = {};
    expect(codes(await admitPosts('o', [create('a', 2, 3), create('b')], needs, room))).toEqual(['stored', 'stored']);
    expect(codes(await admitPosts('o', [create('c')], needs, room))).toEqual(['stored']);
    expect(rows).toMatchObject({ used: 4, looks: 1, commits: 2 });
  });

  test('are refused only after a look, and one that was stored before is no refusal', async () => {
    const { needs, rows } = world({ max: 1 });
    const room: Room = {};
    await admitPosts('o', [create('a')], needs, room);
    expect(codes(await admitPosts('o', [create('a'), create('b')], needs, room))).toEqual(['stored', 'limit_exceeded']);
    expect(rows).toMatchObject({ used: 1, commits: 1, looks: 2 });
    rows.max = 2;
    rows.version += 1;
    expect(codes(await admitPosts('o', [create('c')], needs, room))).toEqual(['stored']);
  });

  test('that only edit take no room, however little there is', async () => {
    const { needs } = world({ max: 1, used: 2 });
    const edit = { posts: [], edits: [{ postId: 'p', change: {} }], createdBy: 'u' } as unknown as Create;
    needs.posts.admitPosts = async (_, creates) => creates.map(() => ({}));
    expect(codes(await admitPosts('o', [edit, create('a')], needs, {}))).toEqual(['stored', 'limit_exceeded']);
  });

  test('find the smaller ones behind one that does not fit', async () => {
    const { needs } = world({ max: 5 });
    expect(codes(await admitPosts('o', [create('a', 3), create('b', 4), create('c', 2)], needs, {}))).toEqual([
      'stored',
      'limit_exceeded',
      'stored',
    ]);
  });

  test('are judged again when somebody else changed the rows in between', async () => {
    const { needs, rows, before } = world({ max: 10 });
    let once = true;
    before(() => {
      if (once) Object.assign(rows, { used: 9, version: rows.version + 1 });
      once = false;
    });
    expect(codes(await admitPosts('o', [create('a'), create('b')], needs, {}))).toEqual(['stored', 'limit_exceeded']);
    expect(rows.used).toBe(10);
  });

  test('that never see the rows stand still are told to come again, and what was stored stays stored', async () => {
    const { needs, rows, before } = world({ max: 10 });
    const room: Room = {};
    await admitPosts('o', [create('a')], needs, room);
    before(() => (rows.version += 1));
    expect(codes(await admitPosts('o', [create('b')], needs, room))).toEqual(['busy']);
    expect(rows.used).toBe(1);
  });

  test('of a database that is away fail each for itself, and the next turn looks again', async () => {
    const { needs, rows } = world({ max: 10 });
    const room: Room = {};
    const away = {
      ...needs,
      billing: { enabled: true, quota: () => Promise.reject(new AppError('unavailable', 'away')) },
    };
    expect(codes(await admitPosts('o', [create('a'), create('b')], away, room))).toEqual([
      'unavailable',
      'unavailable',
    ]);
    expect(codes(await admitPosts('o', [create('a')], needs, room))).toEqual(['stored']);
    expect(rows.used).toBe(1);
  });
});

test('hosts that act at the same time never store more than fits, and refuse only what finds no room when it is refused', async () => {
  const step = fc.record({
    host: fc.nat(2),
    sizes: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 6 }),
    raise: fc.option(fc.nat(5), { freq: 4 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.nat(30), fc.array(step, { maxLength: 20 }), async (max, steps) => {
      const { needs, rows } = world({ max });
      const rooms: Room[] = [{}, {}, {}];
      let made = 0;
      let stored = 0;
      for (const { host, sizes, raise } of steps) {
        if (raise !== null) Object.assign(rows, { max: rows.max + raise, version: rows.version + 1 });
        const answers = await admitPosts(
          'o',
          sizes.map((size) => create(`p${made++}`, size)),
          needs,
          rooms[host]!,
        );
        answers.forEach((refused, n) => {
          if (!refused) stored += sizes[n]!;
          else expect(rows.used + sizes[n]!).toBeGreaterThan(rows.max);
        });
        expect(rows.used).toBe(stored);
        expect(rows.used).toBeLessThanOrEqual(rows.max);
      }
    }),
    { numRuns: 500 },
  );
});

import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { successStatus } from '../../api/http/ladder.ts';
import type { AnyRoute } from '../../api/http/route.ts';
import { routes } from '../../api/resources/routes.gen.ts';

// The public API as clients know it, written by hand from the guide and never from the code: path, verb, who may call
// it, status of a success, and the keys of its answer.

/** The keys of an answer: `?` behind one that may be absent; of a list those of its entries. */
type Keys = string | { readonly list: string } | { readonly [key: string]: Keys };
type Row = [route: string, permission: string, status: 200 | 201, keys: Keys, credentials?: string];

const list = (keys: string) => ({ list: keys });
/** 3.3. */
const P =
  'id content publishDate releaseURL releaseId state detail intervalInDays actualDate? group creationMethod settings tags integration';
/** What S99 adds to it, for one post. */
const MORE =
  'errorKind error organizationId integrationId image delay title description parentPostId recurrence firstComment firstCommentPostedAt approval campaignId version latenessMs createdAt updatedAt deletedAt';
const ONE = `${P} ${MORE} thread`;
const FILE = 'id name originalName path thumbnail alt organizationId createdAt updatedAt';
const WEBHOOK = 'id name url integrations events hasSecret createdAt updatedAt stats';
const ROW_OF_PLAN = 'index valid errors postId?';
const NUMBERS = list('label data percentageChange');
const MEMBER = 'any member';

/** 3.1: what clients in the field call. */
const FIELD: readonly Row[] = [
  ['GET /is-connected', MEMBER, 200, 'connected'],
  [
    'GET /integrations',
    'channels:read',
    200,
    list('id name identifier picture disabled profile customer? refreshNeeded'),
  ],
  ['GET /groups', 'channels:read', 200, list('id name')],
  ['GET /social/:provider', 'channels:create', 200, 'url'], // with `refresh` channels:update, which its handler asks for
  ['DELETE /integrations/:id', 'channels:delete', 200, 'id name identifier'],
  ['GET /integration-settings/:id', 'channels:read', 200, { output: 'rules maxLength settings tools' }],
  ['POST /integration-trigger/:id', 'channels:read', 201, 'output'],
  ['GET /find-slot/:id', 'posts:read', 200, 'date'],
  ['GET /find-slot', 'posts:read', 200, 'date'],
  ['GET /posts', 'posts:read', 200, { posts: list(P), 'nextCursor?': '' }], // the cursor is there when it was asked for
  ['POST /posts', 'posts:create', 201, list('postId integration')],
  ['DELETE /posts/:id', 'posts:delete', 200, 'id'],
  ['DELETE /posts/group/:group', 'posts:delete', 200, 'id deleted?'], // the console tells how many
  ['GET /posts/:id', 'posts:read', 200, ONE],
  ['GET /posts/:id/missing', 'posts:read', 200, list('id url')],
  ['PUT /posts/:id/release-id', 'posts:update', 200, 'id releaseId'],
  ['PUT /posts/:id/status', 'posts:update', 200, 'id state'],
  ['PUT /posts/:id/settings', 'posts:update', 200, 'postId publishDate'],
  ['POST /upload', 'media:create', 201, FILE],
  ['POST /upload-from-url', 'media:create', 201, FILE],
  [
    'GET /notifications',
    MEMBER,
    200,
    { notifications: list('id content link createdAt'), total: '', page: '', limit: '', hasMore: '' },
  ],
  ['POST /generate-video', 'media:create', 201, list('id path')],
  ['POST /video/function', 'media:read', 201, list('id label')], // the data of the provider
  ['GET /analytics/:integrationId', 'analytics:read', 200, NUMBERS, 'api-key oauth session'],
  ['GET /analytics/post/:postId', 'analytics:read', 200, NUMBERS, 'api-key oauth session'],
  ['GET /users', MEMBER, 200, list('id name email')], // its handler asks for the key of a super-admin
];

const JOB =
  'id state detail operation providerId version model progress result error costMicros costSource settled createdAt endedAt';

/** 3.2, and what was added since. */
const ADDED: readonly Row[] = [
  ['GET /me', MEMBER, 200, 'userId orgId orgName role permissions scopes tier'],
  ['PUT /posts/:id', 'posts:update', 200, ONE],
  ['PATCH /posts/:id', 'posts:update', 200, ONE],
  ['GET /posts/:id/timeline', 'posts:read', 200, { postId: '', items: list('at kind message data') }],
  ['POST /posts/:id/retry', 'posts:update', 201, ONE],
  [
    'POST /posts/preflight',
    'posts:create',
    201,
    list('id identifier name valid settingsError errors emptyContent tooLong maximumCharacters warnings issues'),
  ],
  ['POST /posts/bulk', 'posts:create', 201, { planId: '', rows: list(`${ROW_OF_PLAN} warnings`) }],
  ['POST /posts/bulk/:planId/apply', 'posts:create', 201, { created: '', rows: list(ROW_OF_PLAN) }],
  ['POST /posts/bulk/:planId/undo', 'posts:delete', 201, { deleted: '', kept: list('postId reason') }],
  ['POST /posts/pause', 'posts:manage', 201, 'paused'],
  ['POST /posts/resume', 'posts:manage', 201, { resumed: '', plan: list('postId at') }],
  ['GET /tags', 'campaigns:read', 200, { tags: list('id name color') }],
  ['POST /tags', 'campaigns:create', 201, 'id name color'],
  [
    'GET /analytics/:integrationId/history',
    'analytics:read',
    200,
    { items: list('date metric value derived interval'), gaps: list('date reason'), from: '', to: '' },
    'api-key oauth session',
  ],
  ['GET /media', 'media:read', 200, 'pages results total'],
  ['POST /media/:id/transform', 'media:create', 201, JOB],
  ['GET /media/jobs/:id', 'media:read', 200, JOB],
  ['DELETE /media/:id', 'media:delete', 200, 'id'],
  ['GET /webhooks', MEMBER, 200, list(WEBHOOK)],
  ['GET /webhooks/:id', MEMBER, 200, WEBHOOK],
  ['POST /webhooks', 'webhooks:create', 201, `${WEBHOOK} secret?`],
  ['PUT /webhooks', 'webhooks:update', 200, `${WEBHOOK} secret?`],
  ['PUT /webhooks/:id', 'webhooks:update', 200, `${WEBHOOK} secret?`],
  ['DELETE /webhooks/:id', 'webhooks:delete', 200, 'id success'],
  ['GET /webhooks/:id/events', 'webhooks:read', 200, 'items last oldest'],
  ['GET /openapi.json', MEMBER, 200, 'openapi', 'none'],
  ['GET /channels/:id/calendar.ics', MEMBER, 200, '', 'none'], // its token is the credential, and its owner needs posts:read
];

const PREFIX = '/public/v1';
const declared = new Map(
  routes
    .filter(({ path }) => path.startsWith(`${PREFIX}/`))
    .map((route): [string, AnyRoute] => [`${route.method.toUpperCase()} ${route.path.slice(PREFIX.length)}`, route]),
);

type Json = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- JSON Schema as zod writes it

/** The schema of a success: of several forms the one with most of them known, the list before the object. */
const plain = (schema: Json): Json => {
  const choices = (schema['anyOf'] ?? schema['oneOf']) as Json[] | undefined;
  return choices
    ? plain(choices.find(({ type }) => type === 'array') ?? choices.find(({ type }) => type !== 'null')!)
    : schema;
};
const keysIn = (schema: Json): string[] => {
  const required = new Set<string>(schema['required'] ?? []);
  return Object.keys(schema['properties'] ?? {})
    .map((name) => (required.has(name) ? name : `${name}?`))
    .toSorted();
};
const wordsOf = (text: string) =>
  text
    .split(' ')
    .filter((word) => word !== '')
    .toSorted();

function expectKeys(schema: Json, keys: Keys): void {
  const found = plain(schema);
  if (typeof keys === 'string') return keys === '' ? undefined : expect(keysIn(found)).toEqual(wordsOf(keys));
  if (typeof keys['list'] === 'string') {
    expect(found['type']).toBe('array');
    return expect(keysIn(plain(found['items']))).toEqual(wordsOf(keys['list']));
  }
  expect(keysIn(found)).toEqual(Object.keys(keys).toSorted());
  for (const [name, inside] of Object.entries(keys)) expectKeys(found['properties'][name.replace('?', '')], inside);
}

describe('the public API', () => {
  test.each([...FIELD, ...ADDED].map((row) => [row[0], row] as const))(
    '%s is declared as clients know it [S2]',
    (name, [, permission, status, keys, credentials = 'api-key oauth']) => {
      const route = declared.get(name)!;
      expect(route).toBeDefined();
      expect({
        permission: route.permission ?? MEMBER,
        status: successStatus(route),
        credentials: route.auth.join(' '),
      }).toEqual({ permission, status, credentials });
      expectKeys(z.toJSONSchema(route.answer, { io: 'output', unrepresentable: 'any' }), keys);
    },
  );

  test('has no other route', () => {
    const known = [...FIELD, ...ADDED].map(([name]) => name);
    expect([...declared.keys()].filter((name) => !known.includes(name))).toEqual([]);
  });
});

import { describe, expect, test } from '@jest/globals';
import type { AnyRoute } from '../../../api/http/route.ts';
import { routes } from '../../../api/resources/routes.gen.ts';

// S17 by hand: how often each route may be asked, and who is counted. Every other route has API_LIMIT.

type Row = [route: string, limit: string, counted: 'address' | 'org' | 'person'];
const ROWS: readonly Row[] = [
  // accounts
  ['POST /auth/login', '10/minute', 'address'],
  ['POST /auth/register', '5/minute', 'address'],
  ['POST /auth/activate', '5/minute', 'address'],
  ['POST /auth/resend-activation', '5/minute', 'address'],
  ['POST /auth/forgot', '5/minute', 'address'],
  // OAuth server
  ['POST /oauth/token', '20/minute', 'address'],
  ['POST /oauth/register', '20/hour', 'address'],
  ['GET /oauth/authorize', '60/minute', 'address'],
  ['POST /device/code', '10/minute', 'address'],
  // uploads
  ...['files', 'media'].flatMap((folder) =>
    ['upload-simple', 'upload-server', 'upload-from-url', 'create-multipart-upload', 'stock/import'].map(
      (name): Row => [`POST /${folder}/${name}`, '120/hour', 'org'],
    ),
  ),
  ['POST /public/v1/upload', '120/hour', 'org'],
  ['POST /public/v1/upload-from-url', '120/hour', 'org'],
  // webhooks sent by hand
  ['POST /webhooks/send', '30/hour', 'org'],
  ['POST /webhooks/test-ping/:id', '30/hour', 'org'],
  // AI
  ['POST /ai/text', '30/minute', 'org'],
  ['GET /ai/models', '30/minute', 'org'],
  ...['/files', '/media'].flatMap((prefix): [string, string, 'address' | 'org'][] => [
    ...['generate-image', 'generate-image-with-prompt', 'generate-video', 'generate-voice', 'captions', 'jobs'].map(
      (name): [string, string, 'address' | 'org'] => [`POST ${prefix}/${name}`, '30/minute', 'org'],
    ),
    [`GET ${prefix}/video-options`, '30/minute', 'org'],
    [`GET ${prefix}/video-tools`, '30/minute', 'org'],
    [`POST ${prefix}/:id/transform`, '30/minute', 'org'],
    [`GET ${prefix}/jobs/:id`, '30/minute', 'org'],
    [`DELETE ${prefix}/jobs/:id`, '30/minute', 'org'],
  ]),
  ['POST /public/v1/generate-video', '30/minute', 'org'],
  ['GET /public/v1/media/jobs/:id', '30/minute', 'org'],
  ['POST /public/v1/media/:id/transform', '30/minute', 'org'],
  ['POST /public/v1/video/function', '30/minute', 'org'],
  ['POST /files/jobs/callback/:token', '6000/hour', 'address'],
  // MCP: by tool, and all other messages together
  ...['POST /mcp', 'POST /mcp/:id', 'POST /media-mcp', 'GET /sse/:id', 'POST /message/:id'].map((name): Row => [
    name,
    '600/hour',
    'org',
  ]),
  // senders outside
  ['POST /payments', '6000/hour', 'address'],
  ['POST /webhooks/email', '6000/hour', 'address'],
];
/** Beyond S17. */
const MORE: readonly Row[] = [
  ['POST /webhooks/:id/deliveries/:deliveryId/redeliver', '30/hour', 'org'], // sends by hand, too
  ['POST /webhooks/:id/replay', '30/hour', 'org'], // many at once
  ...['', '/public/v1'].flatMap((prefix): Row[] => [
    [`POST ${prefix}/posts/bulk`, '60/hour', 'org'], // ten megabytes each
    [`POST ${prefix}/posts/bulk/:planId/apply`, '60/hour', 'org'],
    [`POST ${prefix}/posts/bulk/:planId/undo`, '60/hour', 'org'],
  ]),
  ['POST /auth/forgot-return', '5/minute', 'address'], // the code of a mail is guessed no faster than a password
  ['POST /auth/confirm-email', '5/minute', 'address'],
  ['POST /user/change-password', '10/minute', 'org'], // asks for the password
  ['POST /user/change-email', '10/minute', 'org'],
  ['DELETE /user', '10/minute', 'org'],
  ['GET /uploads/:folder/:file', '6000/minute', 'address'], // a library shows many at once
  ...['files', 'media'].flatMap(
    (folder) => ['sign-part', 'list-parts'].map((name): Row => [`POST /${folder}/${name}`, '6000/minute', 'org']), // as parts
  ),
  ['GET /auth/oauth/:provider', '60/minute', 'address'], // a login by a provider, and what it asks for
  ['POST /auth/oauth/:provider/exists', '30/minute', 'address'],
  ['GET /auth/nonce/:provider', '60/minute', 'address'],
  ['POST /oauth/device/code', '10/minute', 'address'], // the same as POST /device/code
  ['POST /device/token', '60/minute', 'address'], // asked every few seconds by a device that waits
  ['POST /oauth/device/token', '60/minute', 'address'],
  ['POST /oauth/revoke', '60/minute', 'address'],
  ['POST /admin/providers/settings/test', '60/hour', 'org'], // calls the provider
  ['POST /admin/providers/settings/:id/test', '60/hour', 'org'],
  ['POST /providers/settings/test', '60/hour', 'org'],
  ['POST /providers/settings/:id/test', '60/hour', 'org'],
  ['POST /egress/:id/check', '60/hour', 'org'], // calls through the route
  ['GET /egress/:id/places', '60/hour', 'org'], // calls the provider
  ['GET /files/stock', '60/minute', 'org'], // calls a source
  ['GET /media/stock', '60/minute', 'org'],
  ['PUT /uploads/:folder/:file', '6000/minute', 'address'], // parts, each at an address of its own signature
  ['GET /notifications/unsubscribe', '60/minute', 'address'], // the token of a mail, without a login
  ['POST /notifications/unsubscribe', '60/minute', 'address'],
  ['GET /public/v1/channels/:id/calendar.ics', '6000/hour', 'address'], // and 60 an hour for each feed
  ['GET /notifications/stream', '60/minute', 'person'], // each page opens one, again when it broke off
  ['GET /admin/retention', '60/hour', 'org'], // counts whole tables
  ...['POST /ai/designer/sessions', 'DELETE /ai/designer/sessions/:id'].map((name): Row => [name, '30/minute', 'org']),
  ...['messages', 'approve-plan', 'cancel'].map((name): Row => [
    `POST /ai/designer/sessions/:id/${name}`, // as other work of AI
    '30/minute',
    'org',
  ]),
  ['GET /ai/designer/sessions/:id/events', '60/minute', 'org'], // each page opens one, again when it broke off
  ['GET /metrics', '120/minute', 'address'], // asked by machines, every few seconds
  ['GET /admin/actors', '60/minute', 'org'], // a page that asks again and again
  ['POST /ai/content-pipeline', '30/minute', 'org'], // as every route of AI
  ['GET /ai/content-pipeline/:id/events', '60/minute', 'org'], // each page opens one, again when it broke off
  ['GET /health', 'none', 'address'],
  ['GET /health/live', 'none', 'address'],
  ['GET /health/ready', 'none', 'address'],
];
const TABLE = [...ROWS, ...MORE];
const nameOf = ({ method, path }: AnyRoute) => `${method.toUpperCase()} ${path}`;
const declared = new Map(routes.map((route) => [nameOf(route), route]));

describe('limits of single routes', () => {
  test.each(TABLE)('%s is limited: %s by %s [S17, RL5, RL6]', (name, limit, counted) => {
    const route = declared.get(name);
    expect([
      route?.limit,
      route && (route.auth.includes('none') || route.limitBy === 'ip')
        ? 'address'
        : route?.limitBy === 'person'
          ? 'person'
          : 'org',
    ]).toEqual([limit, counted]);
  });
  test('a route at two paths has one limit for both [S17, S95, S146]', () => {
    const aliases = [
      ['/oauth/device/', '/device/'],
      ['/media/', '/files/'],
    ] as const;
    for (const [alias, path] of aliases) {
      const same = routes.filter((route) => route.path.startsWith(alias));
      expect(same.length).toBeGreaterThan(3);
      for (const { method, path: at, countedAs } of same) {
        expect([at, countedAs]).toEqual([at, path + at.slice(alias.length)]);
        expect(declared.has(`${method.toUpperCase()} ${countedAs}`)).toBe(true);
      }
    }
  });
  test('no other route has a limit of its own, so that the default holds [S17, RL1]', () => {
    const known = new Set(TABLE.map(([name]) => name));
    expect(
      routes
        .filter(({ limit, limitBy }) => limit !== undefined || limitBy !== undefined)
        .map(nameOf)
        .filter((name) => !known.has(name)),
    ).toEqual([]);
  });
});

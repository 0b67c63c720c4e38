import type { AnyRoute } from '../route.ts';

/**
 * The ids of the public API: methods of generated clients are called so, and stay so. A route without a row has an id of
 * its summary.
 */
const PUBLIC_IDS: Readonly<Record<string, string>> = {
  'GET /analytics/:integrationId': 'getChannelAnalytics',
  'GET /analytics/:integrationId/history': 'getChannelHistory',
  'GET /analytics/post/:postId': 'getPostAnalytics',
  'GET /channels/:id/calendar.ics': 'getChannelCalendar',
  'GET /find-slot': 'findSlot',
  'GET /find-slot/:id': 'findChannelSlot',
  'POST /generate-video': 'generateVideo',
  'GET /groups': 'listGroups',
  'GET /integration-settings/:id': 'getChannelRules',
  'POST /integration-trigger/:id': 'callChannelMethod',
  'GET /integrations': 'listChannels',
  'DELETE /integrations/:id': 'deleteChannel',
  'GET /is-connected': 'checkCredential',
  'GET /me': 'getMe',
  'GET /media': 'listFiles',
  'DELETE /media/:id': 'deleteFile',
  'POST /media/:id/transform': 'transformFile',
  'GET /media/jobs/:id': 'getMediaJob',
  'GET /notifications': 'listNotifications',
  'GET /openapi.json': 'getOpenApiDocument',
  'GET /posts': 'listPosts',
  'POST /posts': 'createPosts',
  'GET /posts/:id': 'getPost',
  'PUT /posts/:id': 'replacePost',
  'PATCH /posts/:id': 'editPost',
  'DELETE /posts/:id': 'deletePost',
  'GET /posts/:id/missing': 'findMissingPost',
  'PUT /posts/:id/release-id': 'setReleaseId',
  'POST /posts/:id/retry': 'retryPost',
  'PUT /posts/:id/settings': 'mergePostSettings',
  'PUT /posts/:id/status': 'setPostStatus',
  'GET /posts/:id/timeline': 'getPostTimeline',
  'POST /posts/bulk': 'planPosts',
  'POST /posts/bulk/:planId/apply': 'applyPlan',
  'POST /posts/bulk/:planId/undo': 'undoPlan',
  'DELETE /posts/group/:group': 'deleteGroup',
  'POST /posts/pause': 'pausePosts',
  'POST /posts/preflight': 'preflightPosts',
  'POST /posts/resume': 'resumePosts',
  'GET /social/:provider': 'startConnecting',
  'GET /tags': 'listTags',
  'POST /tags': 'createTag',
  'POST /upload': 'uploadFile',
  'POST /upload-from-url': 'uploadFromUrl',
  'GET /users': 'searchUsers',
  'POST /video/function': 'callVideoFunction',
  'GET /webhooks': 'listWebhooks',
  'POST /webhooks': 'createWebhook',
  'PUT /webhooks': 'changeWebhook',
  'GET /webhooks/:id': 'getWebhook',
  'PUT /webhooks/:id': 'changeWebhookById',
  'DELETE /webhooks/:id': 'deleteWebhook',
  'GET /webhooks/:id/events': 'listWebhookEvents',
};

const PREFIX = '/public/v1';
const isPublic = ({ path }: AnyRoute) => path.startsWith(`${PREFIX}/`);
const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
const camel = (words: readonly string[]) =>
  words.map((word, n) => (n === 0 ? word.charAt(0).toLowerCase() + word.slice(1) : capital(word))).join('');
const wordsIn = (text: string): string[] => text.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');

const ARTICLES = new Set(['a', 'an', 'the', 'its']);
const ofSummary = ({ summary }: AnyRoute) =>
  camel(wordsIn(summary.replace(/ \(RFC \d+\)$/, '')).filter((word) => !ARTICLES.has(word)));

/** `InFilesUploadServer` of `/files/upload-server`, `ByPut` behind it where the method alone tells two routes apart. */
const placeOf = ({ path }: AnyRoute) =>
  `In${path
    .split('/')
    .map((segment) =>
      segment.startsWith(':') ? `By${capital(segment.slice(1))}` : wordsIn(segment).map(capital).join(''),
    )
    .join('')}`;

/** A readable id for each route: that of the table, else that of its summary, with its place where several have one. */
export function operationIds(routes: readonly AnyRoute[]): ReadonlyMap<AnyRoute, string> {
  const ids = new Map<AnyRoute, string>();
  const taken = new Set<string>();
  const give = (route: AnyRoute, id: string) => void (ids.set(route, id), taken.add(id));
  for (const route of routes) {
    const own = isPublic(route) && PUBLIC_IDS[`${route.method.toUpperCase()} ${route.path.slice(PREFIX.length)}`];
    if (own) give(route, own);
  }
  const rest = routes.filter((route) => !ids.has(route));
  const alike = Map.groupBy(rest, ofSummary);
  for (const [id, group] of alike)
    for (const route of group) {
      const isOnly = group.length === 1 && !taken.has(id);
      const placed = id + placeOf(route);
      if (isOnly) give(route, id);
      else give(route, taken.has(placed) ? `${placed}By${capital(route.method)}` : placed);
    }
  return ids;
}

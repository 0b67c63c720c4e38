// Another application on Dapr. It makes posts by the API, moves them by their actor, and hears what becomes of them.
import { timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { ActorId, ActorProxyBuilder, DaprClient, HttpMethod, LogLevel } from '@dapr/dapr';

const { APP_API_TOKEN, APP_PORT = '7100', ROOKERY_API_KEY } = process.env;
/** App id of the API, and the component on which events come. */
const API = 'rookery-api';
const EVENTS = 'events';
const TOPICS = ['rookery.post.published', 'rookery.post.scheduled', 'rookery.post.failed'];

// The client finds its sidecar by DAPR_HTTP_PORT and DAPR_API_TOKEN.
const dapr = new DaprClient({ daprHost: '127.0.0.1', logger: { level: LogLevel.Error } });

/** The type of the actor is the name of the class; its methods are run by the service. */
class Post {
  async setDate() {}
}
const posts = new ActorProxyBuilder(Post, dapr);
/** Never await the proxy itself: that would call its method `then`. */
const postOf = (orgId, postId) => posts.build(new ActorId(`${orgId}:${postId}`));

/** Events that were heard, by id: an event may come twice, and in any order. */
const heard = new Map();

const routes = {
  'GET /dapr/subscribe': () => TOPICS.map((topic) => ({ pubsubname: EVENTS, topic, route: '/events' })),
  'POST /events'({ id, type, subject, orgid, data }) {
    if (!heard.has(id)) console.log(`${type} ${subject}`);
    heard.set(id, { id, type, subject, orgid, data });
    return { status: 'SUCCESS' };
  },
  'GET /heard': () => [...heard.values()],
  'GET /channels': () => api('public/v1/integrations', HttpMethod.GET),
  'POST /posts': (body) => api('public/v1/posts', HttpMethod.POST, body),
  'POST /move': ({ orgId, postId, date }) => postOf(orgId, postId).setDate({ date, action: 'update' }),
};

const api = (path, method, body) =>
  dapr.invoker.invoke(API, path, method, body, { headers: { Authorization: ROOKERY_API_KEY ?? '' } });

/** The sidecar shows the token that both were given; without one nothing is checked. */
const mayAsk = ({ headers }) => {
  if (!APP_API_TOKEN) return true;
  const [given, wanted] = [Buffer.from(headers['dapr-api-token'] ?? ''), Buffer.from(APP_API_TOKEN)];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
};

async function handle(request, response) {
  const answer = (status, body) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? null));
  try {
    if (!mayAsk(request)) return answer(401, { error: 'wrong token' });
    const route = routes[`${request.method} ${request.url}`];
    if (!route) return answer(404, { error: 'no such route' });
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    answer(200, await route(chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : {}));
  } catch (error) {
    answer(502, { error: String(error.message ?? error) }); // an event that fails comes again where the sidecar has a retry for it
  }
}

// By node:http, on this machine alone: the server of the client's package listens on every interface.
const server = createServer((request, response) => void handle(request, response));
server.listen(Number(APP_PORT), '127.0.0.1', () => console.log(`listens on 127.0.0.1:${APP_PORT}`));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(0));

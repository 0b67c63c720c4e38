import postgres from 'postgres';
import { Pool } from 'undici';
import { settings } from './answering.mjs';

export const sql = postgres(settings.databaseUrl, { max: settings.connections, onnotice() {} });
const pool = new Pool(settings.providerUrl, { connections: 256, pipelining: 1 });

/** The same request as the product sends. Answers the network's id. */
export async function send(id, token = 'token') {
  const answer = await pool.request({
    method: 'POST', path: '/posts', headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, 'idempotency-key': id },
    body: JSON.stringify({ text: settings.text, media: [], treatment: {} }),
  });
  return answer.body.json();
}

/** The same rows as the product writes: state, timeline, outbox; one transaction. */
export const settle = ({ id, orgId }, { id: releaseId, url }) => sql.begin((tx) => [
  tx`update posts set state = 'PUBLISHED', detail = null, release_id = ${releaseId}, release_url = ${url}, published_at = now(), attempt = attempt + 1 where id = ${id} and org_id = ${orgId}`,
  tx`insert into post_timeline (org_id, post_id, kind, message, data) values (${orgId}, ${id}, 'claimed', 'Taken for publishing', '{"attempt": 1}'), (${orgId}, ${id}, 'published', 'Published', null)`,
  tx`insert into outbox (org_id, topic, entity_id, payload) values (${orgId}, 'post.published', ${id}, '{}')`,
]);

/** The whole job of one post. */
export const publish = async (post) => void (await settle(post, await send(post.id, post.token)));

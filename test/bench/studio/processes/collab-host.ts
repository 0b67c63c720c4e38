// A process of the product for the benchmark `collab`, with its actors: drafts of one organization, written by people with
// a key each. Another one may stand beside it (`collab-beside.ts`).
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { newId, randomBase62, sha256 } from '../../../../src/platform/kernel/index.ts';
import { lendActors } from '../../../support/processes/actors-elsewhere.ts';
import { testApp } from '../../../support/worlds/app.ts';
import { openNetwork, sealedLogin, startPublisher } from '../../../support/worlds/publishing/world.ts';
import { answering } from '../../kit/answering.ts';
import { replicaEnv } from '../../kit/replica.ts';
import { seedPeople } from '../../kit/seed.ts';
import { usage } from '../../kit/usage.ts';

/** A person may have so many connections. */
const OF_A_PERSON = 20;

const { databaseUrl, connections, documents, redisUrl } = JSON.parse(process.argv[2]!) as {
  databaseUrl: string;
  connections: number;
  documents: number;
  /** Where it is one of two. */
  redisUrl?: string;
};
const sql = openDatabase({ url: databaseUrl });
const actors = await startPublisher({ url: databaseUrl, network: openNetwork() });
const app = await testApp({ sql, env: replicaEnv(redisUrl), ...actors.beside });
const { orgId } = await app.signUp();
const channelId = newId();
const people = Array.from({ length: Math.ceil(connections / OF_A_PERSON) }, () => ({
  id: newId(),
  keyId: newId(),
  key: `pm_live_${randomBase62(43)}`,
}));
const posts = Array.from({ length: documents }, () => newId());
await sql`
  insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
  values (${channelId}, ${orgId}, 'fake', 'v1', 'bench', 'Bench', ${sealedLogin(channelId)})`;
await seedPeople(
  sql,
  people.map(({ id }) => ({ id, orgId })),
);
await sql`
  insert into api_keys (id, org_id, user_id, name, prefix, key_hash)
  select "keyId", ${orgId}::uuid, id, 'bench', prefix, decode(hash, 'hex')
  from json_to_recordset(${JSON.stringify(
    people.map(({ id, keyId, key }) => ({ id, keyId, prefix: key.slice(0, 12), hash: sha256(key).toString('hex') })),
  )}::text::json) as t (id uuid, "keyId" uuid, prefix text, hash text)`;
await sql`
  insert into posts (id, org_id, channel_id, group_id, state, content, content_clean, publish_date)
  select id, ${orgId}, ${channelId}, id::text, 'DRAFT', '<p>Begin</p>', true, now() + interval '30 days'
  from unnest(${posts}::uuid[]) as t (id)`;
await sql`analyze users, memberships, api_keys, posts`;

answering({
  /** `beside`: where every second one of a document is. */
  places: ({ documents: count, readers, beside }: { documents: number; readers: number; beside?: string }) =>
    posts.slice(0, count).map((post, document) =>
      Array.from({ length: readers }, (_, reader) => ({
        url: `${((reader % 2 === 1 && beside) || app.address).replace('http', 'ws')}/collaboration/post:${post}`,
        headers: { authorization: people[Math.floor((document * readers + reader) / OF_A_PERSON)]!.key },
      })),
    ),
  use: usage,
  lend: async () => ({ url: (await lendActors(actors.engine)).url }),
});

import { expect, test } from '@jest/globals';
import { chance, rounds } from '../support/processes/chaos.ts';
import { startEmbedded } from '../support/processes/service.ts';
import { type Answer, type Client, signUp } from '../support/worlds/app.ts';
import { callOf, called, rpc, sendRpc } from '../support/worlds/mcp.ts';
import { testDatabase, type TestDatabase } from '../support/wire/database.ts';
import { eventually } from '../support/wire/eventually.ts';
import { openSse } from '../support/wire/sse.ts';

// What programs and those who decide about their proposals do, while the process that does it is killed.

const ROWS = 120;
const PROPOSALS = 8;
const CALLS = 24;
/** More than fits into the day of the key. */
const POSTS_A_DAY = 18;

/** Asks again until there is an answer that is no failure of ours and none that says to come again. */
async function answerTo(ask: () => Promise<Answer>): Promise<Answer> {
  let last: Answer | undefined;
  await eventually(
    'an answer',
    async () => {
      last = await ask().catch(() => undefined);
      return last !== undefined && last.status < 500 && last.body?.code !== 'idempotency_in_flight';
    },
    60_000,
  );
  return last!;
}
const contents = async ({ sql }: TestDatabase, orgId: string, like: string): Promise<string[]> =>
  (
    await sql<{ content: string }[]>`
      select content
      from posts
      where org_id = ${orgId} and content like ${like}
      order by content`
  ).map(({ content }) => content);
const acts = ({ sql }: TestDatabase, orgId: string) => sql<{ act: string; outcome: string | null }[]>`
  select a.detail ->> 'act' as act, e.detail ->> 'outcome' as outcome
  from audit_log a
  left join audit_log e on e.org_id = a.org_id and e.detail ->> 'ends' = a.detail ->> 'act'
  where a.org_id = ${orgId} and a.action = 'agent.create_post' and a.detail ? 'act'`;

test.each(rounds(20))(
  'round $round of $of: a plan, proposals, calls of a limited key and a stream survive a kill: no post twice, none lost, each act noted',
  async ({ round }) => {
    const dice = chance(`agents, round ${round}`);
    await using database = await testDatabase();
    await using service = await startEmbedded({ database });
    const { client, orgId, withKey } = await signUp(service.url, {});
    const connected = await client.post('/integrations/social-connect/sandbox', {
      fields: { name: 'Net' },
      allowPreview: true,
    });
    const channel = connected.body.id as string;
    const key = await withKey();
    const [{ id: keyId }] = (await client.get('/user/api-keys')).body;
    await client.put(`/user/api-keys/${keyId}/limits`, {
      requestsPerHour: null,
      postsPerDay: POSTS_A_DAY,
      aiCentsPerDay: null,
    });
    const social = (content: string) => ({
      socialPost: [{ integrationId: channel, type: 'draft', postsAndComments: [{ content }] }],
    });
    const row = (n: number) => ({
      type: 'draft',
      date: '2030-01-01T00:00:00Z',
      shortLink: false,
      tags: [],
      posts: [{ integration: { id: channel }, value: [{ content: `<p>row ${n}</p>`, image: [] }], settings: {} }],
    });
    const items = Array.from({ length: ROWS }, (_, n) => row(n));
    const { planId } = (await client.post('/posts/bulk', { items })).body;
    const proposals: string[] = [];
    for (let n = 0; n < PROPOSALS; n += 1)
      proposals.push((await called(key, 'propose_post', social(`<p>proposal ${n}</p>`))).proposalId);
    await using stream = await openSse(`${service.url}/sse/${orgId}`, { authorization: key.key });
    const endpoint = (await stream.next()).data;

    // all of it at once, and the kill in the middle
    const apply = () => client.post(`/posts/bulk/${planId}/apply`, {});
    const accept = (id: string) => client.post(`/proposals/${id}/accept`, {});
    const call = (n: number) => sendRpc(key, callOf('create_post', social(`<p>call ${n}</p>`)));
    const lost = () => undefined;
    const begun: Promise<Answer | undefined>[] = [];
    const begin = (work: () => Promise<Answer>) => void begun.push(work().catch(lost));
    const calls = Array.from({ length: CALLS }, (_, n) => call(n).catch(lost));
    begin(apply);
    for (const id of proposals) begin(() => accept(id));
    begin(() => key.post(endpoint, callOf('create_post', social('<p>streamed</p>'))));
    const enough = 1 + dice.pick(CALLS);
    await eventually('enough acts are noted', async () => (await acts(database, orgId)).length >= enough, 60_000);
    await service.kill(0);
    await stream.ended().catch(lost);
    const answers = await Promise.all(calls);
    await Promise.all(begun);
    await service.restart(0);

    // whoever was left without an answer asks again
    const applied = await answerTo(apply);
    expect([applied.status, applied.body.created]).toEqual([201, ROWS]);
    for (const id of proposals) {
      await answerTo(() => accept(id));
      const { status, postIds } = (await client.get(`/proposals/${id}`)).body;
      expect([status, postIds]).toEqual(['accepted', [expect.any(String)]]);
    }
    await judge(database, { orgId, keyId, client, answers });
    await using again = await openSse(`${service.url}/sse/${orgId}`, { authorization: key.key });
    const message = rpc('tools/list');
    expect((await key.post((await again.next()).data, message)).status).toBe(202);
    expect(JSON.parse((await again.next()).data).id).toBe(message.id);
  },
  300_000,
);

/** Each post once, those that were answered there, as many as the key may create, and an act before each. */
async function judge(
  database: TestDatabase,
  {
    orgId,
    keyId,
    client,
    answers,
  }: { orgId: string; keyId: string; client: Client; answers: readonly (Answer | undefined)[] },
): Promise<void> {
  const ordered = (texts: readonly string[]) => texts.toSorted();
  expect(await contents(database, orgId, '<p>row %')).toEqual(
    ordered(Array.from({ length: ROWS }, (_, n) => `<p>row ${n}</p>`)),
  );
  expect(await contents(database, orgId, '<p>proposal %')).toEqual(
    ordered(Array.from({ length: PROPOSALS }, (_, n) => `<p>proposal ${n}</p>`)),
  );
  const made = [
    ...(await contents(database, orgId, '<p>call %')),
    ...(await contents(database, orgId, '<p>streamed%')),
  ];
  expect(new Set(made).size).toBe(made.length);
  const [counted] = await database.sql`select posts from program_limits where program_id = ${keyId}`;
  expect([counted!['posts'], made.length <= POSTS_A_DAY]).toEqual([made.length, true]);
  answers.forEach((answer, n) => {
    if (answer && !answer.body.result.isError) expect(made).toContain(`<p>call ${n}</p>`);
  });
  const noted = await acts(database, orgId);
  expect(noted.length).toBeGreaterThanOrEqual(made.length);
  const done = noted.filter(({ outcome }) => outcome === 'done').length;
  const unknown = noted.filter(({ outcome }) => outcome === null).length;
  expect([done <= made.length, done + unknown >= made.length]).toEqual([true, true]);
  const shown = (await client.get('/settings/audit?limit=100')).body.items.filter(
    ({ action, detail }: { action: string; detail: object }) => action === 'agent.create_post' && 'act' in detail,
  );
  expect(shown.filter(({ detail }: { detail: { outcome: string } }) => detail.outcome === 'unknown')).toHaveLength(
    unknown,
  );
}

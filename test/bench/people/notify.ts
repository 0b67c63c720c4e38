import { fileURLToPath } from 'node:url';
import type { Sql } from '../../../src/platform/db/index.ts';
import type { Options } from '../kit/options.ts';
import { interleave, type Side } from '../kit/pairs.ts';
import type { Report } from '../kit/report.ts';
import { openWorld } from '../kit/world.ts';

const HOST = fileURLToPath(new URL('./processes/notify-host.ts', import.meta.url));
const PEOPLE_OF_ORG = 1_000;
const MOST_STATEMENTS = 15;
const BY_ROW = 'a row a statement';
const WHOLE = 'a statement a table';
const TITLE = 'Acme is disabled';
const CONTENT = 'A member disabled it.';

/** A fact for each of some organizations, of which all their members are told: in the application, by mail, by push. */
export async function notify(options: Options): Promise<Report> {
  await using world = await openWorld(options);
  const asked = options.size ?? (options.quick ? 500 : 20_000);
  const people = Math.min(PEOPLE_OF_ORG, asked);
  const orgs = Math.ceil(asked / people);
  const size = orgs * people;
  const { url: databaseUrl, sql } = await world.database();
  const host = world.script(HOST, { databaseUrl });
  let mailLength = 2_000;

  const side = (name: string, tell: (orgIds: string[]) => Promise<{ ms: number; statements?: number }>): Side => ({
    name,
    async run() {
      const orgIds = (await host.ask({ do: 'seed', orgs, people })) as string[];
      const { ms, statements } = await tell(orgIds);
      const [row] = await sql<{ rows: number; mails: number; pushes: number; told: number; length: number }[]>`
        select (select count(*)::int from notifications) as rows, (select count(*)::int from emails) as mails,
          (select count(*)::int from pushes) as pushes,
          (select count(distinct user_id)::int from notifications) as told,
          (select coalesce(avg(length(content)), 0)::int from emails) as length`;
      const { rows, mails, pushes, told, length } = row!;
      mailLength = length;
      return {
        people_per_s: size / (ms / 1_000),
        rows_per_s: (rows + mails + pushes) / (ms / 1_000),
        ...(statements !== undefined && { statements }),
        doubled: rows - told,
        missing: 3 * size - rows - mails - pushes,
      };
    },
  });
  const peer = (name: string, work: (tx: Sql, orgId: string) => Promise<unknown>): Side =>
    side(name, async (orgIds) => {
      const begun = performance.now();
      for (const orgId of orgIds) await sql.begin((tx) => work(tx, orgId));
      return { ms: performance.now() - begun };
    });
  const compared = await interleave(
    [
      side('rookery', (orgIds) => host.ask({ do: 'hear', orgIds })),
      peer(BY_ROW, (tx, orgId) => byRow(tx, orgId, 'x'.repeat(mailLength))),
      peer(WHOLE, (tx, orgId) => whole(tx, orgId, 'x'.repeat(mailLength))),
    ],
    [
      { name: `rows, ${BY_ROW}`, figure: 'rows_per_s', peer: BY_ROW, better: 'greater', goal: 2 },
      { name: `rows, ${WHOLE}`, figure: 'rows_per_s', peer: WHOLE, better: 'greater' },
    ],
    options,
  );
  const own = compared.figures['rookery']!;
  return {
    bench: 'notify',
    size,
    ...compared,
    goals: [
      { name: 'statements for all facts', value: own['statements']!, most: MOST_STATEMENTS },
      { name: 'doubled', value: own['doubled']!, most: 0 },
      { name: 'missing', value: own['missing']!, most: 0 },
    ],
    settings: { orgs, people },
    leavesOut: [
      'the peers judge no roles and no preferences, open no window for later mails, write no text, seal no mail and sign no way to unsubscribe',
    ],
    skipped: [],
  };
}

/** Each person by three statements, one after the other. */
async function byRow(tx: Sql, orgId: string, mail: string): Promise<void> {
  const people = await tx<{ userId: string; email: string; tokenId: string }[]>`
    select m.user_id as "userId", u.email, t.id as "tokenId"
    from memberships m
    join users u on u.id = m.user_id
    join push_tokens t on t.user_id = m.user_id
    where m.org_id = ${orgId}`;
  for (const { userId, email, tokenId } of people) {
    await tx`
      insert into notifications (id, org_id, user_id, source, category, title, content)
      values (gen_random_uuid(), ${orgId}, ${userId}, 'fact', 'channel_issues', ${TITLE}, ${CONTENT})`;
    await tx`
      insert into emails (id, org_id, to_address, template, content, provider_id, provider_version)
      values (gen_random_uuid(), ${orgId}, ${email}, 'notification', ${mail}, 'smtp', 'v1')`;
    await tx`
      insert into pushes (id, token_id, category, title, content)
      values (gen_random_uuid(), ${tokenId}, 'channel_issues', ${TITLE}, ${CONTENT})`;
  }
}
/** All of them by one statement for each table. */
async function whole(tx: Sql, orgId: string, mail: string): Promise<void> {
  await tx`
    insert into notifications (id, org_id, user_id, source, category, title, content)
    select gen_random_uuid(), org_id, user_id, 'fact', 'channel_issues', ${TITLE}, ${CONTENT}
    from memberships
    where org_id = ${orgId}`;
  await tx`
    insert into emails (id, org_id, to_address, template, content, provider_id, provider_version)
    select gen_random_uuid(), m.org_id, u.email, 'notification', ${mail}, 'smtp', 'v1'
    from memberships m
    join users u on u.id = m.user_id
    where m.org_id = ${orgId}`;
  await tx`
    insert into pushes (id, token_id, category, title, content)
    select gen_random_uuid(), t.id, 'channel_issues', ${TITLE}, ${CONTENT}
    from memberships m
    join push_tokens t on t.user_id = m.user_id
    where m.org_id = ${orgId}`;
}

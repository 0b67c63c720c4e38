import { afterAll, expect, test } from '@jest/globals';
import { sealCredentials } from '../../../../src/publishing/channels/credentials.ts';
import { newId, systemClock } from '../../../../src/platform/kernel/index.ts';
import { fc } from '../../../support/properties.ts';
import { later, openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';

const DAY = 24 * 3_600_000;
const routes = await openPostRoutes();
const { db, app, ann, channel, create } = routes;
afterAll(routes.close);

/** The part of a drawn body that asks for a plug; `by`: the channel that it names to act. */
interface AskedPlug {
  active: unknown;
  by: 'able' | 'other' | 'unknown' | undefined;
  text: string;
  more: object;
}

async function connectTo(providerId: string): Promise<string> {
  const id = newId();
  const login = { account: id, values: {}, grantedAt: systemClock.now() };
  // what is to go out now waits for a login: nothing is sent
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials, refresh_needed)
    values (${id}, ${ann.orgId}, ${providerId}, 'v1', ${id}, ${providerId},
      ${sealCredentials(app.context.vault, login)}, true)`;
  return id;
}
async function file(more: object): Promise<object> {
  const id = newId();
  await db.sql`
    insert into files ${db.sql({ id, org_id: ann.orgId, name: 'a', original_name: 'a', storage_key: `x/${id}.png`, kind: 'image', mime: 'image/png', bytes: 1_000, width: 100, height: 100, ...more })}`;
  return { id, path: '' };
}

test('create accepts what preflight finds valid, and refuses the rest, on every network [S116, PO10]', async () => {
  const networks = app.context.providers.list('social').filter(({ id }) => id !== 'fake');
  const channels = await Promise.all(networks.map(({ id }) => connectTo(id)));
  expect(channels.length).toBeGreaterThanOrEqual(36);
  const [picture, film] = [
    await file({ mime: 'image/jpeg', width: 1_000, height: 1_000 }),
    await file({ kind: 'video', mime: 'video/mp4', width: 1_080, height: 1_920, duration_ms: 20_000 }),
  ];
  const image = fc.constantFrom(picture, film, { path: 'https://a.example/x.png' }, { path: 'http://10.0.0.1/x.png' });
  const content = fc.oneof(
    fc.constantFrom('', '<p>Hi</p>', '<p>@ann #tag https://a.example/b</p>', '<p><strong>x</strong></p>'),
    fc.integer({ min: 1, max: 6_000 }).map((length) => 'word '.repeat(length / 5)),
  );
  const item = fc.record({
    content,
    image: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(image, { maxLength: 5 })),
  });
  const settings = fc.constantFrom({}, { title: 'A title' }, { title: 5 }, { post_type: 'story' }, { who: ['x'] });
  const rarely = <T>(arbitrary: fc.Arbitrary<T>) =>
    fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
  const firstComment = rarely(fc.constantFrom('<p>First</p>', '<p>First</p>', '', 'x'.repeat(12_000), 5));
  const plug = rarely(
    fc.record({
      active: fc.constantFrom(true, true, true, 'true', false, undefined),
      by: fc.constantFrom('able', 'able', 'other', 'unknown', undefined),
      text: fc.constantFrom('Seen?', 'Seen?', 'x', 'x'.repeat(12_000)),
      more: fc.constantFrom({}, {}, { invented: 'x' }),
    }),
  );
  const recurs = rarely(
    fc.constantFrom(
      { inter: 7 },
      { recurrence: { rrule: 'FREQ=WEEKLY;BYDAY=MO', timezone: 'Europe/Berlin' } },
      { recurrence: { rrule: 'FREQ=DAILY;COUNT=1', timezone: 'UTC' } },
      { recurrence: { rrule: 'FREQ=DAILY', timezone: 'UTC', until: '2020-01-01' } },
      { inter: 7, recurrence: { rrule: 'FREQ=DAILY', timezone: 'UTC' } },
    ),
  );
  const draft = fc.record({
    type: fc.constantFrom('schedule', 'schedule', 'schedule', 'draft', 'now'),
    // with an offset, and as a local time of the zone, or of UTC
    date: fc.constantFrom(later(DAY), later(DAY), later(2 * DAY).slice(0, -1), '2020-01-01T00:00:00Z'),
    timezone: rarely(fc.constantFrom('Europe/Berlin', 'America/New_York')),
    value: fc.array(item, { minLength: 1, maxLength: 2 }),
    settings,
    firstComment,
    plug,
    recurs,
  });
  /** The settings that ask for a plug of the network `n`, or for one that it does not have. */
  function settingsOf(n: number, { active, by, text, more }: AskedPlug): object {
    const found = (networks[n]!.plugs ?? []).flatMap((each) => (each.kind === 'post' ? [each] : [])).at(-1);
    const { identifier = 'invented', fields = [], pickIntegration = [] } = found ?? {};
    const able = networks.findIndex(({ id }) => pickIntegration.includes(id));
    const picked = { able: channels[able] ?? newId(), other: channel, unknown: newId() };
    const asked = {
      ...Object.fromEntries(fields.map(({ name, placeholder }) => [name, placeholder])),
      ...(fields.some(({ name }) => name === 'post') && { post: text }),
      ...(by && { integrations: [{ id: picked[by] }] }),
      ...more,
      active,
    };
    return Object.fromEntries(Object.entries(asked).map(([name, given]) => [`plug--${identifier}--${name}`, given]));
  }

  const counts = { accepted: 0, refused: 0 };
  const accepted = { firstComment: 0, plug: 0, recurs: 0, timezone: 0, now: 0 };
  let turn = 0;
  const property = fc.asyncProperty(draft, async ({ value: items, settings: chosen, ...drawn }) => {
    const n = turn++ % channels.length;
    const { type, date, timezone, recurs: rule } = drawn;
    const asked = {
      ...chosen,
      ...(drawn.firstComment !== undefined && { firstComment: drawn.firstComment }),
      ...(drawn.plug && settingsOf(n, drawn.plug)),
    };
    const posts = [{ integration: { id: channels[n]! }, value: items, settings: asked }];
    const body = { type, date, timezone, ...rule, posts };
    const [{ valid, issues }] = (await ann.client.post('/posts/preflight', body)).body;
    const answer = await create(body);
    expect([networks[n]!.id, answer.status, issues]).toEqual([expect.anything(), valid ? 201 : 400, issues]);
    counts[valid ? 'accepted' : 'refused'] += 1;
    if (!valid) return;
    accepted.now += Number(type === 'now');
    for (const part of ['firstComment', 'plug', 'recurs', 'timezone'] as const)
      accepted[part] += Number(drawn[part] !== undefined);
  });
  await fc.assert(property, { numRuns: 12 * channels.length, endOnFailure: true });
  expect(await db.sql`select id from posts where attempt > 0`).toEqual([]);
  expect(counts.accepted).toBeGreaterThan(channels.length);
  expect(counts.refused).toBeGreaterThan(channels.length);
  expect(Object.entries(accepted).filter(([, times]) => times === 0)).toEqual([]);
});

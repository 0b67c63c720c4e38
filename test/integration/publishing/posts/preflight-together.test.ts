import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId, systemClock } from '../../../../src/platform/kernel/index.ts';
import { CreateBody } from '../../../../src/publishing/posts/index.ts';
import { element, openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';
import { workOf } from '../../../support/worlds/publishing/work.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const routes = await openPostRoutes();
const { db, app, network, ann, channel, connect, schedule, made } = routes;
afterAll(routes.close);
beforeEach(() => {
  network.declares = {};
});

const date = systemClock.in(40 * DAY);
const at = (hours: number) => new Date(date.getTime() + hours * HOUR).toISOString();
const judged = (...bodies: object[]) =>
  app.context.posts.preflightPosts(
    ann.orgId,
    bodies.map((body) => CreateBody.parse(body)),
    { userId: ann.userId, schedulesFreely: true },
  );
const codes = async (...bodies: object[]) =>
  (await judged(...bodies)).map(({ entries }) => entries.map(({ warnings }) => warnings.map(({ code }) => code)));
const body = (id: string, hours: number, more: object = {}) =>
  schedule({ date: at(hours), posts: [element(id, `<p>${hours}</p>`)], ...more });

describe('preflight of several bodies', () => {
  const full = [['rate_budget']];
  const free = [[]];

  test('counts those that go out in the window of a post before it, in the order of their dates [S116]', async () => {
    network.declares = { pace: [{ per: 'account', posts: 3, ms: DAY }] };
    const id = await connect(ann.orgId, 'Fresh');
    const [first, second, third, fourth] = [0, 1, 2, 3].map((hours) => body(id, hours));
    expect(await codes(fourth!, first!, second!, third!)).toEqual([full, free, free, free]);
    expect(await codes(first!, second!, third!, body(id, 24.5))).toEqual([free, free, free, free]); // the first is out
    expect(await codes(first!, second!, third!, body(id, 23.5))).toEqual([free, free, free, full]);
    const draft = body(id, 0.5, { type: 'draft' });
    expect(await codes(first!, second!, draft, third!)).toEqual([free, free, free, free]); // a draft takes no place
  });

  test('counts two changes of one post as one [S116]', async () => {
    network.declares = { pace: [{ per: 'account', posts: 2, ms: DAY }] };
    const id = await connect(ann.orgId, 'Fresh');
    const root = await made(body(id, 0));
    const edit = (hours: number) =>
      schedule({ date: at(hours), posts: [{ integration: { id }, value: [{ content: `${hours}`, id: root }] }] });
    expect(await codes(edit(1), edit(2), body(id, 3), body(id, 4))).toEqual([free, free, free, full]);
  });

  test('names the post that each would edit, and judges the others where one is too much to be read [S116]', async () => {
    const root = await made(body(channel, 0));
    const edit = schedule({
      date: at(1),
      posts: [{ integration: { id: channel }, value: [{ content: 'x', id: root }] }],
    });
    const tooMuch = schedule({ date: at(2), posts: [element(channel, '<b>'.repeat(20_001)), element(newId())] });
    const found = await judged(tooMuch, edit, body(channel, 3));
    expect(found.map(({ edits }) => edits)).toEqual([[], [root], []]);
    expect(found.map(({ entries }) => entries.map(({ isValid, name }) => [isValid, name]))).toEqual([
      [
        [false, 'First'],
        [false, null],
      ],
      [[true, 'First']],
      [[true, 'First']],
    ]);
  });

  test('costs six statements at most for a hundred of as many dates and types [S116]', async () => {
    network.declares = { pace: [{ per: 'account', posts: 10, ms: DAY }] };
    const ids = await Promise.all(Array.from({ length: 20 }, () => connect(ann.orgId, 'Fresh')));
    const root = await made(body(ids[0]!, 0));
    const image = [{ path: 'https://a.example/x.png' }, { path: '', id: newId() }];
    const bodies = Array.from({ length: 100 }, (_, n) =>
      schedule({
        type: (['schedule', 'draft', 'now'] as const)[n % 3],
        date: at(n),
        posts: [
          { integration: { id: ids[n % 20]! }, value: [{ content: `${n}`, image, ...(n === 0 && { id: root }) }] },
        ],
      }),
    );
    const { result, statements } = await workOf(db, () => judged(...bodies));
    expect(result.map(({ entries }) => entries.length)).toEqual(bodies.map(() => 1));
    expect(statements.filter((text) => !/^\s*(begin|commit)/i.test(text)).length).toBeLessThanOrEqual(6);
  });
});

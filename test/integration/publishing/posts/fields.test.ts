import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ProviderError, systemClock } from '../../../../src/platform/kernel/index.ts';
import { settles } from '../../../support/wire/settles.ts';
import { settled } from '../../../support/worlds/publishing/world.ts';
import { element, later, openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';

const HOUR = 3_600_000;
const routes = await openPostRoutes();
const { db, network, ann, key, channel, second } = routes;
const { schedule, create, made, read } = routes;
afterAll(routes.close);
beforeEach(() => {
  network.behave = undefined;
});

describe('fields of POST /public/v1/posts', () => {
  test('answers a post for several channels with one entry for each, in order [S103, T3]', async () => {
    const answer = await create({
      ...schedule(),
      posts: [element(channel), element(second, '<p>Two</p>')],
      tags: [
        { value: 'a', label: 'Alpha' },
        { value: 'b', label: 'alpha' },
      ],
      shortLink: false,
    });
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual([
      { postId: expect.any(String), integration: channel },
      { postId: expect.any(String), integration: second },
    ]);
    const post = await read(answer.body[1].postId);
    expect(post).toMatchObject({
      state: 'QUEUE',
      detail: 'scheduled',
      content: '<p>Two</p>',
      integrationId: second,
      creationMethod: 'API',
      version: 1,
      thread: [],
      approval: null,
      firstComment: { state: 'none', error: null },
    });
    expect(post.tags).toEqual([{ tag: { id: expect.any(String), name: 'Alpha', color: '#612AD5' } }]); // S261
    expect((await read(answer.body[0].postId)).group).not.toBe(post.group); // S105
  });

  test('accepts each dialect of a field [T4, T5]', async () => {
    const date = later();
    const bodies = [
      {
        type: 'schedule',
        date,
        shortLink: false,
        tags: [{ value: 'a', label: 'A' }],
        posts: [
          {
            integration: { id: channel },
            group: 'optional',
            value: [
              {
                content: '<p>Hi</p>',
                id: 'optional',
                delay: 0,
                image: [{ id: 'm1', path: 'https://a.example/x.png', alt: '', thumbnail: '' }],
              },
            ],
            settings: { __type: 'x', who_can_reply_post: 'everyone' },
          },
        ],
      },
      {
        type: 'schedule',
        creationMethod: 'CLI',
        date,
        shortLink: true,
        tags: [],
        posts: [
          {
            integration: { id: channel },
            value: [
              { content: 'Hi', delay: 0, image: [{ id: 'k3j9x1', path: 'https://a.example/x.png' }] },
              { content: 'second item', delay: 5, image: [] },
            ],
          },
        ],
      },
      {
        type: 'draft',
        date: '2026-09-01T10:00:00',
        shortLink: false,
        tags: [],
        posts: [
          { integration: { id: channel }, group: '', value: [{ content: 'Hi', id: '', image: [] }], settings: {} },
        ],
      },
      {
        type: 'schedule',
        date,
        shortLink: false,
        tags: [],
        posts: [
          {
            integration: { id: channel },
            value: [{ content: 'Title https://a.example', image: [{ id: 'up1', path: 'https://a.example/a.jpg' }] }],
            settings: { __type: 'twitter' },
          },
        ],
      },
      {
        type: 'draft',
        date: null,
        tags: null,
        inter: null,
        posts: [
          {
            integration: { id: channel },
            group: null,
            value: [{ content: 'x', id: null, delay: null, image: null }],
            settings: null,
          },
        ],
      },
    ];
    for (const body of bodies) {
      const answer = await create(body);
      expect([answer.status, answer.text]).toEqual([
        201,
        JSON.stringify([{ postId: answer.body[0]?.postId, integration: channel }]),
      ]);
      const found = await key.get(`/public/v1/posts/${answer.body[0].postId}`);
      expect([found.status, JSON.parse(found.body.settings).__type]).toEqual([200, 'fake']);
    }
    const cli = await db.sql`select creation_method from posts where content = 'second item'`;
    expect(cli).toEqual([{ creation_method: 'CLI' }]);
    const inside = await create(
      schedule({
        posts: [element(channel, 'x', { value: [{ content: 'x', image: [{ path: 'https://10.0.0.1/a.jpg' }] }] })],
      }),
    );
    // media is judged where it is named
    expect([inside.status, inside.body.errors[0].field]).toEqual([400, 'posts.0.value.0.image.0.path']);
  });

  test('accepts every known key, names unknown ones, and passes unknown keys inside settings [T6]', async () => {
    const whole = {
      type: 'schedule',
      date: later(),
      shortLink: false,
      tags: [{ value: 'v', label: 'l', color: '#ff0000' }],
      order: '',
      inter: 0,
      republish: false,
      creationMethod: 'API',
      recurrence: null,
      timezone: 'UTC',
      posts: [
        {
          integration: { id: channel },
          group: 'g',
          type: 'x',
          settings: { invented: { deep: 1 }, firstComment: '' },
          value: [
            {
              content: 'x',
              id: 'y',
              delay: 3,
              image: [
                {
                  id: 'i',
                  path: 'https://a.example/i.png',
                  alt: 'a',
                  thumbnail: 'https://a.example/t.png',
                  thumbnailTimestamp: 1,
                  name: 'n',
                  type: 'image',
                },
              ],
            },
          ],
        },
      ],
    };
    const answer = await create(whole);
    expect(answer.status).toBe(201);
    expect(await read(answer.body[0].postId)).toMatchObject({
      group: 'g',
      settings: { invented: { deep: 1 } },
      image: [{ id: 'i', path: 'https://a.example/i.png', alt: 'a', thumbnail: 'https://a.example/t.png' }],
    });
    for (const [field, body] of Object.entries({
      bogus: { ...whole, bogus: 1 },
      'posts.0.bogus': { ...whole, posts: [{ ...whole.posts[0], bogus: 1 }] },
      'posts.0.integration.bogus': { ...whole, posts: [{ ...whole.posts[0], integration: { id: channel, bogus: 1 } }] },
      'posts.0.value.0.bogus': { ...whole, posts: [{ ...whole.posts[0], value: [{ content: 'x', bogus: 1 }] }] },
      'posts.0.value.0.image.0.bogus': {
        ...whole,
        posts: [
          { ...whole.posts[0], value: [{ content: 'x', image: [{ path: 'https://a.example/i.png', bogus: 1 }] }] },
        ],
      },
      'tags.0.bogus': { ...whole, tags: [{ label: 'l', bogus: 1 }] },
    })) {
      const refused = await create(body);
      expect([refused.status, refused.body.code, refused.body.errors?.[0]?.field]).toEqual([
        400,
        'unknown_field',
        field,
      ]);
    }
  });

  test('accepts dates with Z, with an offset and without one; drafts take any date and `now` ignores it [T7, S104]', async () => {
    const at = new Date(Math.floor(Date.now() / 1000) * 1000 + 2 * HOUR);
    const plain = at.toISOString().slice(0, 19);
    const offset = `${new Date(at.getTime() + 2 * HOUR).toISOString().slice(0, 19)}+02:00`;
    for (const date of [at.toISOString(), offset, plain, plain.replace('T', ' '), `${plain}.123456Z`]) {
      const { publishDate } = await read(await made(schedule({ date })));
      expect(new Date(publishDate).setMilliseconds(0)).toBe(at.getTime());
    }
    expect((await read(await made(schedule({ type: 'draft', date: '2020-01-01' })))).publishDate).toBe(
      '2020-01-01T00:00:00.000Z',
    );
    const now = await made(schedule({ type: 'now', date: '2020-01-01T10:00:00' }));
    await settled(db.sql, ann.orgId, { details: ['scheduled'] });
    expect((await read(now)).publishDate > '2026').toBe(true);
    const old = await create(schedule({ date: systemClock.in(-25 * HOUR).toISOString() }));
    expect([old.status, old.body.code]).toEqual([400, 'date_in_past']);
    await made(schedule({ date: systemClock.in(-23 * HOUR).toISOString() })); // due at once
    expect((await create({ ...schedule(), date: undefined })).body.errors[0].field).toBe('date');
  });

  test('reads a date without an offset in `timezone`, and one with an offset, or without a zone, literally [T7]', async () => {
    const year = new Date().getUTCFullYear() + 1;
    const cases = [
      [`${year}-08-03T10:00:00`, 'Europe/Berlin', `${year}-08-03T08:00:00.000Z`],
      [`${year}-12-03T10:00`, 'Europe/Berlin', `${year}-12-03T09:00:00.000Z`],
      [`${year}-08-03`, 'America/New_York', `${year}-08-03T04:00:00.000Z`],
      [`${year}-08-03T10:00:00Z`, 'Europe/Berlin', `${year}-08-03T10:00:00.000Z`],
      [`${year}-08-03T10:00:00-05:00`, 'Europe/Berlin', `${year}-08-03T15:00:00.000Z`],
      [`${year}-08-03T10:00:00`, '', `${year}-08-03T10:00:00.000Z`],
      [`${year}-08-03T10:00:00`, null, `${year}-08-03T10:00:00.000Z`],
    ] as const;
    for (const [date, timezone, publishDate] of cases)
      for (const type of ['schedule', 'draft']) {
        const id = await made(schedule({ type, date, timezone }));
        expect([date, timezone, (await read(id)).publishDate]).toEqual([date, timezone, publishDate]);
        await made({
          type: 'update',
          date: `${year}-01-02T10:00:00`,
          timezone: 'Asia/Tokyo',
          posts: [element(channel, 'x', { value: [{ id, content: 'x' }] })],
        });
        expect((await read(id)).publishDate).toBe(`${year}-01-02T01:00:00.000Z`);
      }
  });
});

test('an item that is put behind a post which was given up says why it waits, and is not in doubt itself [S101, S102]', async () => {
  const id = await made();
  await db.sql`
    update posts
    set state = 'ERROR', detail = 'unconfirmed', error_kind = 'unconfirmed', error = 'x', due_at = null
    where id = ${id}`;
  const given = { state: 'ERROR', detail: null, errorKind: 'unconfirmed' };
  const error = 'The item of the thread before it was not published';
  const put = (thread: object[]) => ann.client.send('PATCH', `/posts/${id}`, { thread });
  const [item] = (await put([{ content: 'two' }])).body.thread;
  expect(item).toMatchObject({ ...given, error });
  expect((await put([{ id: item.id, content: 'other' }])).body.thread).toMatchObject([
    { ...given, id: item.id, error },
  ]);
});

test('a post that is to be tried again and gets another date is tried as often as a new one [S109]', async () => {
  const id = await made();
  await db.sql`update posts set detail = 'retrying', attempts_failed = 4 where id = ${id}`;
  network.behave = () => Promise.reject(new ProviderError('unavailable', 'Down'));
  expect((await ann.client.send('PATCH', `/posts/${id}`, { publishDate: later(-HOUR) })).status).toBe(200);
  const planned = async () =>
    (await ann.client.get(`/posts/${id}/timeline`)).body.items.find(
      ({ kind }: { kind: string }) => kind === 'retry_planned',
    );
  await settles(async () => expect(await planned()).toMatchObject({ data: { inMs: 10_000 } }));
});

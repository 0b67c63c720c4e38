// oxlint-disable max-lines -- one story, told in its order
import { expect } from '@jest/globals';
import { createHmac, randomBytes } from 'node:crypto';
import { type IncomingHttpHeaders, request } from 'node:http';
import sharp from 'sharp';
import { z } from 'zod';
import { call } from '../../../src/operations/cli/call.ts';
import type { Database } from '../../../src/platform/db/index.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { decodeNpub } from '../../../src/providers/kit/protocols/nostr.ts';
import { type ServiceClient, createdId, postBody, signUpAt } from './client.ts';
import { eventually } from '../wire/eventually.ts';
import { isSigned } from './history.ts';
import type { Peer } from '../peers/peers.ts';
import type { Receiver } from '../wire/receiver.ts';
import { SIGNING_SECRET } from './service.ts';

// What the product is for, done once from outside. The same words for every engine and every way of running it.

const DUE_MS = 3_000;
const PUBLISHED_MS = 90_000;
const Connected = z.object({
  id: z.string(),
  identifier: z.string(),
  disabled: z.literal(false),
  refreshNeeded: z.literal(false),
});
const Uploaded = z.object({ id: z.string(), path: z.string() });
const One = z.object({
  id: z.string(),
  state: z.string(),
  detail: z.string().nullable(),
  error: z.string().nullable(),
  publishDate: z.string(),
  releaseId: z.string().nullable(),
  releaseURL: z.string().nullable(),
});
type One = z.output<typeof One>;
const Attempts = z.object({
  items: z.array(
    z.object({ event: z.string(), attempt: z.number(), status: z.number(), error: z.string().nullable() }),
  ),
});
const Timeline = z.object({
  postId: z.string(),
  items: z.array(z.object({ at: z.string(), kind: z.string(), message: z.string() })),
});

/** Waits until the post is out, and answers it. A failure ends the wait with its reason. */
async function published(client: ServiceClient, postId: string): Promise<One> {
  let post!: One;
  await eventually(
    `post ${postId} is published`,
    async () => {
      post = await client.api(`/public/v1/posts/${postId}`, One);
      if (post.state === 'ERROR') throw new Error(`post ${postId} failed: ${post.error}`);
      return post.state === 'PUBLISHED';
    },
    PUBLISHED_MS,
  ).catch((error: unknown) => Promise.reject(new Error(`${String(error)} ${JSON.stringify(post)}`)));
  return post;
}

/**
 * From registration to the signed webhook, on the sandbox network. `receiver` speaks https; `sql` is the product's
 * database, for what only a row can tell.
 */
export async function mainJob(url: string, receiver: Receiver, sql: Database): Promise<void> {
  const client = await signUpAt(url, 'Acme');
  expect(client.key).toMatch(/^pm_live_[0-9A-Za-z]{43}$/);
  const account = `main-job-${randomBytes(4).toString('hex')}`;
  const channel = await client.own('/integrations/social-connect/sandbox', Connected, {
    body: { fields: { name: account }, allowPreview: true },
  });
  const hook = await client.own('/webhooks', z.object({ id: z.string(), secret: z.string() }), {
    body: { name: 'news', url: `${receiver.url}/${account}`, integrations: [{ id: channel.id }], secret: true },
  });

  const date = systemClock.in(DUE_MS);
  const content = '<p>Grüße 👋🏽 to all</p>';
  const answer = await client.ask('/public/v1/posts', { body: postBody({ channelId: channel.id, date, content }) });
  const postId = createdId(answer);
  if (postId === undefined) throw new Error(`The create answered ${answer.status}: ${answer.text}`);
  const early = await client.api(`/public/v1/posts/${postId}`, One);
  expect(early.publishDate).toBe(date.toISOString());
  if (systemClock.now() < date) expect(early.state).toBe('QUEUE'); // a machine that stands still finds it due

  const post = await published(client, postId);
  expect(post).toMatchObject({
    detail: null,
    error: null,
    publishDate: date.toISOString(),
    releaseURL: expect.stringContaining(account),
  });
  const [row] = await sql<
    { publishedAt: Date; publishDate: Date }[]
  >`select published_at as "publishedAt", publish_date as "publishDate" from posts where id = ${postId}`;
  expect(row!.publishedAt.getTime()).toBeGreaterThanOrEqual(row!.publishDate.getTime());
  const noted = await sql<
    { at: Date; text: string; postId: string; accepted: boolean }[]
  >`select at, text, post_id as "postId", accepted from sandbox_ledger where account = ${account}`;
  expect(noted).toMatchObject([{ text: 'Grüße 👋🏽 to all', postId: post.releaseId, accepted: true }]);
  expect(noted[0]!.at.getTime()).toBeGreaterThanOrEqual(date.getTime());

  const mine = () => receiver.ledger.filter(({ path }) => path === `/${account}`);
  await eventually('the webhook is received', () => mine().length > 0, PUBLISHED_MS);
  const [delivery] = mine();
  expect(delivery).toMatchObject({
    method: 'POST',
    headers: { 'content-type': 'application/json', 'webhook-id': expect.stringMatching(/^msg_/) },
  });
  expect(JSON.parse(delivery!.body.toString('utf8'))).toMatchObject({
    event: 'post.published',
    data: {
      postId,
      integrationId: channel.id,
      providerIdentifier: 'sandbox',
      content,
      url: post.releaseURL,
      state: 'PUBLISHED',
      publishDate: date.toISOString(),
    },
  });
  expect(isSigned(delivery!, hook.secret)).toBe(true);
  expect(delivery!.headers['x-service-signature']).toBe(
    `sha256=${createHmac('sha256', SIGNING_SECRET).update(delivery!.body).digest('hex')}`,
  );

  const attempts = async () => (await client.own(`/webhooks/${hook.id}/deliveries`, Attempts)).items;
  await eventually('the delivery is recorded', async () => (await attempts()).length > 0);
  expect(await attempts()).toEqual([{ event: 'post.published', attempt: 1, status: 200, error: null }]);
  expect(mine()).toHaveLength(1);

  const timeline = await client.api(`/public/v1/posts/${postId}/timeline`, Timeline);
  expect(
    timeline.items
      .map(({ kind }) => kind)
      .filter((kind) => ['created', 'claimed', 'published', 'webhook'].includes(kind)),
  ).toEqual(['created', 'claimed', 'published', 'webhook']);
  const { posts } = await client.api(
    `/public/v1/posts?startDate=${new Date(date.getTime() - 60_000).toISOString()}&endDate=${new Date(date.getTime() + 60_000).toISOString()}`,
    z.object({ posts: z.array(z.object({ id: z.string(), state: z.string(), releaseURL: z.string().nullable() })) }),
  );
  expect(posts).toEqual([{ id: postId, state: 'PUBLISHED', releaseURL: post.releaseURL }]);
}

// The networks
// -------------------------------------------------------------------------------------------------------------

interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}
/** One plain request on a connection of its own, answered as it is: redirects are not followed. */
const http = (url: string, { method = 'GET', headers = {}, body }: Sent = {}) =>
  new Promise<{ status: number; headers: IncomingHttpHeaders; text: string }>((done, fail) => {
    const sent = request(
      url,
      {
        method,
        agent: false,
        headers: { ...headers, ...(body !== undefined && { 'content-length': `${Buffer.byteLength(body)}` }) },
      },
      (answer) => {
        const parts: Buffer[] = [];
        answer
          .on('data', (part: Buffer) => parts.push(part))
          .on('error', fail)
          .on('end', () =>
            done({ status: answer.statusCode!, headers: answer.headers, text: Buffer.concat(parts).toString('utf8') }),
          );
      },
    );
    sent.on('error', fail).end(body);
  });
const form = (fields: Record<string, string>): Sent => ({
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams(fields).toString(),
});

/** A picture that only this run has, uploaded over the public API. */
async function upload(client: ServiceClient): Promise<z.output<typeof Uploaded>> {
  const data = await sharp({
    create: {
      width: 60,
      height: 40,
      channels: 3,
      background: '#2a6',
      noise: { type: 'gaussian', mean: 128, sigma: 20 },
    },
  })
    .png()
    .toBuffer();
  const boundary = randomBytes(12).toString('hex');
  const body = Buffer.concat([
    Buffer.from(
      `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="birds.png"\r\ncontent-type: image/png\r\n\r\n`,
    ),
    data,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  const answer = await http(`${client.url}/public/v1/upload`, {
    method: 'POST',
    headers: { authorization: client.key, 'content-type': `multipart/form-data; boundary=${boundary}` },
    body,
  });
  if (answer.status >= 300) throw new Error(`The upload answered ${answer.status}: ${answer.text}`);
  return Uploaded.parse(JSON.parse(answer.text));
}

/** Text with a link, a mention and a tag, as an editor would send it, and as it is to be read. */
const LINK = 'https://rookery.example/a?b=1&c=2';
const told = (mention: string) => ({
  html: `<p>Hello ${mention}, see ${LINK.replace('&', '&amp;')} #Birds</p>`,
  text: `Hello ${mention}, see ${LINK} #Birds`,
});
const ALT = 'Green birds on a wire';

/**
 * Posts text with link, mention, tag and a picture to a connected channel through the API, and answers the post when it
 * is out.
 */
async function publish(
  client: ServiceClient,
  channelId: string,
  content: string,
): Promise<{ post: One; picture: z.output<typeof Uploaded> }> {
  const picture = await upload(client);
  const date = systemClock.in(DUE_MS);
  const answer = await client.ask('/public/v1/posts', {
    body: postBody({ channelId, date, content, image: [{ ...picture, alt: ALT }] }),
  });
  const postId = createdId(answer);
  if (postId === undefined) throw new Error(`The create answered ${answer.status}: ${answer.text}`);
  return { post: await published(client, postId), picture };
}

const Records = z.object({
  records: z.array(
    z.object({
      uri: z.string(),
      value: z
        .object({
          text: z.string(),
          facets: z.array(
            z.object({
              index: z.object({ byteStart: z.number(), byteEnd: z.number() }),
              features: z.array(z.unknown()),
            }),
          ),
          embed: z.object({
            images: z.array(
              z.object({
                alt: z.string(),
                image: z.object({ mimeType: z.string(), ref: z.object({ $link: z.string() }) }),
              }),
            ),
          }),
        })
        .nullish()
        .catch(null),
    }),
  ),
});

/** Bluesky on a real personal data server: connected with an app password, read back from the repository. */
export async function blueskyJob(url: string, pds: Peer): Promise<void> {
  const { alice, bob } = z
    .record(z.string(), z.object({ did: z.string(), handle: z.string(), password: z.string() }))
    .parse(pds.env['accounts']);
  const client = await signUpAt(url);
  const { id } = await client.own('/integrations/social-connect/bluesky', Connected, {
    body: { fields: { service: pds.url, identifier: alice!.handle, password: alice!.password } },
  });
  const { html, text } = told(`@${bob!.handle}`);
  const { post } = await publish(client, id, html);

  const { records } = Records.parse(
    (
      await call(
        'GET',
        `${pds.url}/xrpc/com.atproto.repo.listRecords?repo=${alice!.did}&collection=app.bsky.feed.post&limit=100`,
      )
    ).body,
  );
  const [record] = records.filter(({ uri }) => uri === post.releaseId);
  expect(record?.value?.text).toBe(text);
  const bytes = Buffer.from(text);
  expect(
    record!.value!.facets.map(({ index, features }) => [
      bytes.subarray(index.byteStart, index.byteEnd).toString(),
      features[0],
    ]),
  ).toEqual([
    [`@${bob!.handle}`, { $type: 'app.bsky.richtext.facet#mention', did: bob!.did }],
    [LINK, { $type: 'app.bsky.richtext.facet#link', uri: LINK }],
    ['#Birds', { $type: 'app.bsky.richtext.facet#tag', tag: 'Birds' }],
  ]);
  const [image] = record!.value!.embed.images;
  expect(image).toMatchObject({ alt: ALT, image: { mimeType: 'image/png' } });
  const blob = await http(`${pds.url}/xrpc/com.atproto.sync.getBlob?did=${alice!.did}&cid=${image!.image.ref.$link}`);
  expect([blob.status, blob.headers['content-type']]).toEqual([200, 'image/png']);
}

/** A person who types a password into the server's own page; answers what the server sends their browser back with. */
async function consent(server: string, page: string, login: string, passwd: string): Promise<URL> {
  const { text } = await http(page);
  const hidden = Object.fromEntries(
    [...text.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name!, value!]),
  );
  const answer = await http(`${server}/oauth/x-snac-login`, form({ ...hidden, login, passwd }));
  if (answer.headers.location === undefined)
    throw new Error(`The login page answered ${answer.status} without a way back: ${answer.text.slice(0, 300)}`);
  return new URL(answer.headers.location);
}
/** A token of a reader that has nothing to do with the product: an app of its own, by the server's own flow. */
async function readerToken(server: string, login: string, password: string): Promise<string> {
  const redirect = 'https://reader.example/back';
  const { client_id, client_secret } = z
    .object({ client_id: z.string(), client_secret: z.string() })
    .parse(
      JSON.parse(
        (await http(`${server}/api/v1/apps`, form({ client_name: 'reader', redirect_uris: redirect, scopes: 'read' })))
          .text,
      ),
    );
  const page = `${server}/oauth/authorize?${new URLSearchParams({ response_type: 'code', client_id, redirect_uri: redirect, scope: 'read', state: 'read' }).toString()}`;
  const code = (await consent(server, page, login, password)).searchParams.get('code') ?? '';
  return z
    .object({ access_token: z.string() })
    .parse(
      JSON.parse(
        (
          await http(
            `${server}/oauth/token`,
            form({ grant_type: 'authorization_code', client_id, client_secret, redirect_uri: redirect, code }),
          )
        ).text,
      ),
    ).access_token;
}
const Status = z.object({
  content: z.string(),
  media_attachments: z.array(z.object({ type: z.string(), description: z.string(), url: z.string() })),
  mentions: z.array(z.object({ acct: z.string() })),
  tags: z.array(z.object({ name: z.string() })),
});

/** Mastodon's API on a real server: connected by consent, read back by another client. */
export async function mastodonJob(url: string, snac: Peer): Promise<void> {
  const password = z.record(z.string(), z.string()).parse(snac.env['passwords'])['alice']!;
  const client = await signUpAt(url);
  const begun = await client.own(
    `/integrations/social/mastodon?externalUrl=${encodeURIComponent(snac.url)}`,
    z.object({ url: z.string() }),
  );
  expect(new URL(begun.url).origin).toBe(snac.url);
  const back = await consent(snac.url, begun.url, 'alice', password);
  expect(back.pathname).toBe('/integrations/social/mastodon');
  const { id } = await client.own('/integrations/social-connect/mastodon', Connected, {
    body: { code: back.searchParams.get('code'), state: back.searchParams.get('state') },
  });
  const { html } = told('@bob');
  const { post } = await publish(client, id, html);

  const token = await readerToken(snac.url, 'alice', password);
  const answer = await http(`${snac.url}/api/v1/statuses/${post.releaseId}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const status = Status.parse(JSON.parse(answer.text));
  expect(status.content.replaceAll('&amp;', '&')).toContain(`href="${LINK}"`);
  expect(status.mentions.map(({ acct }) => acct)).toEqual([expect.stringContaining('bob')]);
  expect(status.tags.map(({ name }) => name.toLowerCase().replace(/^#/, ''))).toEqual(['birds']);
  expect(status.media_attachments).toMatchObject([{ type: 'image', description: ALT }]);
  const picture = await http(status.media_attachments[0]!.url);
  expect([picture.status, picture.headers['content-type']]).toEqual([200, 'image/png']);
}

const Event = z.object({ id: z.string(), pubkey: z.string(), content: z.string(), tags: z.array(z.array(z.string())) });
/** What a relay itself holds. */
const stored = (relay: string, filter: object) =>
  new Promise<z.output<typeof Event>[]>((done, fail) => {
    const events: z.output<typeof Event>[] = [];
    const socket = new WebSocket(relay);
    socket.addEventListener('error', () => fail(new Error(`no relay at ${relay}`)));
    socket.addEventListener('open', () => socket.send(JSON.stringify(['REQ', 'r', filter])));
    socket.addEventListener('message', ({ data }) => {
      const [verb, , event] = JSON.parse(String(data)) as [string, string, unknown];
      if (verb === 'EVENT') events.push(Event.parse(event));
      if (verb !== 'EOSE') return;
      socket.close();
      done(events);
    });
  });

/** Nostr on real relays: connected with a key, read back from each relay. `mentioned` is an npub. */
export async function nostrJob(url: string, relays: readonly Peer[], mentioned: string): Promise<void> {
  const client = await signUpAt(url);
  const { id } = await client.own('/integrations/social-connect/nostr', Connected, {
    body: {
      fields: { password: randomBytes(32).toString('hex'), relays: relays.map((relay) => relay.url).join(', ') },
    },
  });
  const { html, text } = told(`nostr:${mentioned}`);
  const { post, picture } = await publish(client, id, html);
  for (const relay of relays) {
    const [event] = await stored(relay.url, { ids: [post.releaseId] });
    expect(event).toMatchObject({ content: `${text}\n${picture.path}` });
    expect(event!.tags).toEqual(
      expect.arrayContaining([
        ['t', 'birds'],
        ['p', decodeNpub(mentioned)],
        ['imeta', `url ${picture.path}`, 'm image/png', 'dim 60x40', `alt ${ALT}`],
      ]),
    );
  }
  const shown = await http(url + new URL(picture.path).pathname);
  expect([shown.status, shown.headers['content-type']]).toEqual([200, 'image/png']);
}

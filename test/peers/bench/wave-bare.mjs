// The way of the product with everything left out that makes it one: no contracts, no fences, no errors. What it costs is the least this design can cost.
import { answering, settings } from './answering.mjs';
import { send, sql } from './publish.mjs';

/** Calls that meet while a statement is under way travel together in the next one; two statements at a time. */
function group(statement, max = 500) {
  const waiting = [];
  let running = 0;
  const pump = async () => {
    while (waiting.length > 0) {
      const taken = waiting.splice(0, max);
      try {
        const results = await statement(taken.map(({ row }) => row));
        taken.forEach(({ resolve }, n) => resolve(results[n]));
      } catch (error) {
        taken.forEach(({ reject }) => reject(error));
      }
    }
    running -= 1;
  };
  return (row) => new Promise((resolve, reject) => {
    waiting.push({ row, resolve, reject });
    if (running < 2) {
      running += 1;
      setImmediate(pump);
    }
  });
}

const take = group(async (channels) => {
  const rows = await sql`
    with asked as (
      select * from unnest(${channels}::uuid[]) with ordinality as t (channel_id, n)
    ), next as (
      select a.n::int as n, p.id from asked a cross join lateral (
        select id from posts where channel_id = a.channel_id and state = 'QUEUE' and detail in ('scheduled', 'retrying') and due_at <= now() and publish_date <= now() and deleted_at is null
        order by publish_date, seq limit 1
      ) p
    ), taken as (
      update posts p set detail = 'publishing', attempt = p.attempt + 1, incarnation = 'bare', claimed_at = now() from next
      where p.id = next.id and p.detail in ('scheduled', 'retrying') returning p.id, p.org_id as "orgId", p.attempt, next.n
    ), told as (
      insert into post_timeline (org_id, post_id, kind, message) select "orgId", id, 'claimed', 'Taken for publishing' from taken
    )
    select * from taken`;
  const byAsker = new Map(rows.map((row) => [row.n, row]));
  return channels.map((_, n) => byAsker.get(n + 1));
});
const settle = group(async (results) => {
  await sql`
    with input as (
      select * from unnest(${results.map(({ id }) => id)}::uuid[], ${results.map(({ attempt }) => attempt)}::int[], ${results.map(({ url }) => url)}::text[]) as t (id, attempt, url)
    ), settled as (
      update posts p set state = 'PUBLISHED', detail = null, release_id = i.id::text, release_url = i.url, published_at = now() from input i
      where p.id = i.id and p.attempt = i.attempt and p.state = 'QUEUE' returning p.id, p.org_id
    ), told as (
      insert into post_timeline (org_id, post_id, kind, message) select org_id, id, 'published', 'Published' from settled
    )
    insert into outbox (org_id, topic, entity_id) select org_id, 'post.published', id from settled`;
  return results;
});

// A gate that deals its places to organizations in turn.
const waiting = new Map();
const ring = [];
let free = settings.concurrency;
function deal() {
  while (free > 0 && ring.length > 0) {
    const org = ring.shift();
    const queue = waiting.get(org);
    const go = queue.shift();
    if (queue.length > 0) ring.push(org);
    else waiting.delete(org);
    free -= 1;
    go();
  }
}
const enter = (org) => new Promise((resolve) => {
  if (waiting.has(org)) waiting.get(org).push(resolve);
  else {
    waiting.set(org, [resolve]);
    ring.push(org);
  }
  deal();
});

async function drain(channel) {
  for (let post = await take(channel); post; post = await take(channel)) {
    await enter(post.orgId);
    let answer;
    try {
      answer = await send(post.id);
    } finally {
      free += 1;
      deal();
    }
    await settle({ id: post.id, attempt: post.attempt, url: answer.url });
  }
}

let finished;
answering({
  ready: () => sql`select 1`.then(() => undefined),
  add({ posts }) {
    const { due } = posts[0];
    const channels = [...new Set(posts.map(({ channelId }) => channelId))];
    finished = new Promise((resolve) => setTimeout(resolve, due - Date.now())).then(() => Promise.all(channels.map(drain))).then(() => []);
    return due - Date.now();
  },
  finished: () => finished,
});

import { type Billing, requireFeature } from '../../entitlements/index.ts';
import { permissionsOf } from '../../people/access/index.ts';
import { requireSession, type SessionActor } from '../../people/auth/index.ts';
import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import { type Database, readChangeCounter } from '../../platform/db/index.ts';
import { AppError, bind, type Clock, notFound, randomBase62, sha256, sha256Hex } from '../../platform/kernel/index.ts';
import type { Channels } from '../channels/index.ts';
import type { Posts } from '../posts/index.ts';
import { rangeOfFeed, writeCalendar } from './events.ts';
import * as store from './store.ts';

export interface CalendarDeps {
  sql: Database;
  clock: Clock;
  channels: Pick<Channels, 'get'>;
  posts: Pick<Posts, 'listForCalendar'>;
  billing: Pick<Billing, 'planOf'>;
  /** The public address of the service. */
  backendUrl: string;
}
export type Calendar = ReturnType<typeof openCalendar>;

type Owner = AuditActor & { userId: string };

const FORM = /^cal_[0-9A-Za-z]{43}$/;
const noted = (done: string, orgId: string, channelId: string) => ({
  orgId,
  action: `calendar_feed.${done}`,
  resource: 'channels',
  resourceId: channelId,
  detail: {},
});

/**
 * Makes the calendar feed of a channel for one person, in the place of the one that they had; answers its address, which
 * is shown once.
 * @throws AppError `not_found` for an unknown channel
 */
async function createFeed(
  { sql, channels, backendUrl }: CalendarDeps,
  orgId: string,
  by: SessionActor,
  channelId: string,
): Promise<string> {
  await channels.get(orgId, channelId);
  const token = `cal_${randomBase62(43)}`;
  await sql.begin(async (tx) => {
    await requireSession(tx, by);
    await store.putFeed(tx, { orgId, userId: by.userId, channelId }, sha256(token));
    await writeAudit(tx, by, noted('created', orgId, channelId));
  });
  return `${backendUrl}/public/v1/channels/${channelId}/calendar.ics?token=${token}`;
}

/** Ends the calendar feed that a person has of a channel. Throws `not_found` without one. */
async function removeFeed({ sql }: CalendarDeps, orgId: string, by: Owner, channelId: string): Promise<void> {
  await sql.begin(async (tx) => {
    if (!(await store.deleteFeed(tx, { orgId, userId: by.userId, channelId }))) throw notFound('There is no feed');
    await writeAudit(tx, by, noted('removed', orgId, channelId));
  });
}

/** A feed that may be read, and by what it is known whether it has changed. */
export interface OpenFeed extends store.FeedKey {
  /** What its calls are counted by. */
  bucket: string;
}

/**
 * Finds the feed of a token, with the rights that its owner has at this moment.
 * @throws AppError `invalid_token`, `no_subscription`, `plan_required`, `forbidden`, or `not_found` where the token is
 *   that of another channel
 */
async function openFeed(
  { sql, clock, billing }: CalendarDeps,
  channelId: string,
  token: string | undefined,
): Promise<OpenFeed> {
  const hash = token !== undefined && FORM.test(token) ? sha256(token) : undefined;
  const holder = hash && (await store.findFeedHolder(sql, hash));
  if (!hash || !holder) throw new AppError('invalid_token', 'The token of this calendar is missing or not valid');
  requireFeature(billing.planOf(holder, clock.now()), 'api');
  if (!permissionsOf(holder.roleKey, holder.isSuperAdmin, holder.granted).has('posts:read'))
    throw new AppError('forbidden', 'The owner of this calendar lacks the permission posts:read');
  if (holder.channelId !== channelId) throw notFound('Channel not found');
  const { orgId, userId } = holder;
  return { orgId, userId, channelId, bucket: `calendar feed|${hash.toString('hex')}` };
}

/** The tag of a feed: it changes with the lists of the organization, and with the hour. */
async function tagOfFeed({ sql, clock, backendUrl }: CalendarDeps, { orgId, channelId }: OpenFeed): Promise<string> {
  const changes = await readChangeCounter(sql, orgId);
  const { from } = rangeOfFeed(clock.now());
  return `W/"${sha256Hex(JSON.stringify([backendUrl, channelId, from, changes])).slice(0, 32)}"`;
}

/**
 * The queued and published posts of a channel from 30 days back to 90 days ahead as iCalendar text (RFC 5545), each date
 * of a series for itself.
 */
async function readFeed(
  { clock, channels, posts, backendUrl }: CalendarDeps,
  { orgId, channelId }: OpenFeed,
): Promise<string> {
  const { name: channelName } = await channels.get(orgId, channelId);
  const listed = await posts.listForCalendar(orgId, channelId, rangeOfFeed(clock.now()));
  return writeCalendar({ channelName, host: new URL(backendUrl).host, posts: listed });
}

/** The room of calendar feeds, by which calendars outside show the posts of a channel. */
export const openCalendar = (deps: CalendarDeps) =>
  bind(deps, { createFeed, removeFeed, openFeed, tagOfFeed, readFeed });

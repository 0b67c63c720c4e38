import { z } from 'zod';
import { AppError, invalidField } from '../../platform/kernel/index.ts';
import { type Renewal, type SocialAdapter, type WriteContent, writerOf } from '../../providers/registry/index.ts';
import type { ChannelsOptions } from './deps.ts';
import type { Credentials } from './credentials.ts';

const MARGIN_MS = 5 * 60_000;
const DAY_MS = 86_400_000;

/**
 * Answers whether a token is to be renewed before it is used: five minutes ahead, and a quarter of its life where that
 * is shorter. One that renews `itself` is lost when it expires, so half of its life ahead, and when it is a day old
 * (Instagram and Threads refuse younger ones). Never where no call takes it.
 */
export function isExpiring({ tokens, grantedAt }: Credentials, renewal: Renewal, now: Date): boolean {
  if (!tokens?.expiresAt || renewal === 'needless') return false;
  const left = tokens.expiresAt.getTime() - now.getTime();
  const life = tokens.expiresAt.getTime() - grantedAt.getTime();
  if (renewal === 'itself') return left <= life / 2 && now.getTime() - grantedAt.getTime() >= DAY_MS;
  return left <= Math.min(MARGIN_MS, life / 4);
}
export const isExpired = ({ tokens }: Credentials, now: Date): boolean =>
  tokens?.expiresAt !== undefined && tokens.expiresAt <= now;

/**
 * Answers when a person has to log in again; null where the service renews the token without end, it does not expire, or
 * no call takes it.
 */
export function loginExpiry({ tokens }: Credentials, renewal: Renewal): Date | null {
  if (renewal === 'needless') return null;
  return (renewal === 'apart' ? tokens?.refreshExpiresAt : tokens?.expiresAt) ?? null;
}
export const daysLeft = (expiry: Date | null, now: Date): number | null =>
  expiry && Math.max(0, Math.floor((expiry.getTime() - now.getTime()) / DAY_MS));

const Open = z.record(z.string(), z.unknown());
/** The typed fields of a login: `fields`, or `code` as base64 of a JSON object (S132). */
export function typedFields({
  code,
  fields,
}: {
  code?: string | undefined;
  fields?: Record<string, unknown> | undefined;
}): Record<string, unknown> {
  if (fields) return fields;
  if (code === undefined) throw invalidField('fields', 'is needed', 'required');
  try {
    return Open.parse(JSON.parse(Buffer.from(code, 'base64').toString('utf8')));
  } catch (cause) {
    throw new AppError(
      'validation_failed',
      'code: base64 of a JSON object with the fields',
      { errors: [{ field: 'code', message: 'code: base64 of a JSON object with the fields', rule: 'invalid_format' }] },
      { cause },
    );
  }
}

/** Refuses a return address whose origin the operator does not list (S134). */
export function checkReturnUrl(allowlist: readonly string[], url: string): void {
  const origins = allowlist.flatMap((entry) => (URL.canParse(entry) ? [new URL(entry).origin] : []));
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol) || !origins.includes(new URL(url).origin))
    throw invalidField('returnUrl', 'this address is not in INTEGRATION_RETURN_URL_ALLOWLIST', 'origin');
}

const Named = z.array(z.object({ name: z.string().optional(), title: z.string().optional(), value: z.unknown() }));
/** The provider's own settings that `additionalSettings` holds: a JSON object, or a list of `{name, value}`. */
export function readAdditional(text: string): Record<string, unknown> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw invalidField('additionalSettings', 'must be JSON', 'invalid_format');
  }
  const open = Open.safeParse(json);
  if (open.success) return open.data;
  const named = Named.safeParse(json);
  if (!named.success)
    throw invalidField('additionalSettings', 'must be an object, or a list of {name, value}', 'invalid_type');
  return Object.fromEntries(
    named.data.flatMap(({ name, title, value }) => ((name ?? title) === undefined ? [] : [[(name ?? title)!, value]])),
  );
}

type StripsLinks = Pick<ChannelsOptions, 'stripLinksFrom'>;
/** Whether posts to a network go out without links from this instance. */
export const stripsLinks = ({ stripLinksFrom }: StripsLinks, providerId: string): boolean =>
  stripLinksFrom.includes(providerId);

/** Answers how contents are written for a network of this instance. */
export const writerFor = (options: StripsLinks, adapter: SocialAdapter): WriteContent =>
  writerOf(adapter, { withoutLinks: stripsLinks(options, adapter.id) });

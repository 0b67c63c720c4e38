import { invalidField } from '../../platform/kernel/index.ts';

/** Ways of telling somebody something. */
const CHANNELS = ['email', 'push', 'inApp'] as const;
export type NotificationChannel = (typeof CHANNELS)[number];
export type Toggles = Record<NotificationChannel, boolean>;
export type Digest = (typeof DIGESTS)[number];
export const DIGESTS = ['Instant', 'Daily', 'Weekly', 'Never'] as const;

/** All notification preferences of a user. */
export interface Preferences {
  /** Turns a channel off entirely. */
  master: Toggles;
  categories: Record<string, Toggles>;
  digest: Digest;
  /** Mails and pushes that may wait do not go in between; null: they go at any time. */
  quietHours: QuietHours | null;
  /**
   * Categories whose mails were refused by the link in one, which holds where a notice overrides their toggles too: who
   * was told that they are off the list gets none of it (S181, RFC 8058).
   */
  unsubscribed: readonly string[];
}
/** Wall-clock times of the person, as `22:00`; an end before the start is one of the next day. */
export interface QuietHours {
  from: string;
  to: string;
}
type Some<T> = { [K in keyof T]?: T[K] | undefined };
/** Every part may be absent. Stored in the same shape: only what somebody has chosen. */
export interface PreferencesChange {
  master?: Some<Toggles> | undefined;
  categories?: Record<string, Some<Toggles>> | undefined;
  digest?: Digest | undefined;
  quietHours?: QuietHours | null | undefined;
  unsubscribed?: readonly string[] | undefined;
}

const toggles = (email: boolean, push: boolean, inApp: boolean): Toggles => ({ email, push, inApp });

/** The categories and their defaults (interface, Notification categories). */
const DEFAULTS: Readonly<Record<string, Toggles>> = {
  post_published: toggles(true, false, true),
  post_failed: toggles(true, true, true),
  channel_issues: toggles(true, true, true),
  replies: toggles(true, false, true),
  ai_budget: toggles(true, false, true),
  media_jobs: toggles(false, false, true),
  announcements: toggles(true, false, true),
  streak_reminders: toggles(true, false, true),
  agent_briefs: toggles(false, false, false),
  analytics_alerts: toggles(true, false, true),
};
const ALL_ON = toggles(true, true, true);
/** A category that a person makes up may be named as what every object has, such as `toString`. */
const isKnown = (name: string): boolean => Object.hasOwn(DEFAULTS, name);

const over = (base: Toggles, chosen: Some<Toggles> = {}): Toggles => {
  const [email, push, inApp] = CHANNELS.map((channel) => chosen[channel] ?? base[channel]);
  return { email: email!, push: push!, inApp: inApp! };
};

/**
 * Merges what was chosen over the defaults; a category that is not known follows the master where nothing was chosen
 * (S178).
 */
export function completePreferences(chosen: PreferencesChange): Preferences {
  const master = over(ALL_ON, chosen.master);
  const names = [...Object.keys(DEFAULTS), ...Object.keys(chosen.categories ?? {})];
  return {
    master,
    categories: Object.fromEntries(
      names.map((name) => [name, over(isKnown(name) ? DEFAULTS[name]! : master, chosen.categories?.[name])]),
    ),
    digest: chosen.digest ?? 'Instant',
    quietHours: chosen.quietHours ?? null,
    unsubscribed: chosen.unsubscribed ?? [],
  };
}

/** Categories without defaults that a person may choose something for: all who are told of a fact have theirs read. */
const MOST_UNKNOWN = 100;
const unknownIn = ({ categories }: PreferencesChange): number =>
  Object.keys(categories ?? {}).filter((name) => !isKnown(name)).length;

/** Throws `validation_failed` for more categories than a person may have; those that are there may stay. */
export function checkCategories(chosen: PreferencesChange, merged: PreferencesChange): void {
  if (unknownIn(merged) > Math.max(MOST_UNKNOWN, unknownIn(chosen)))
    throw invalidField(
      'categories',
      `more than ${MOST_UNKNOWN} besides the known ones, choose for those that are there`,
      'too_big',
    );
}

/**
 * The choices with a change written over them, part by part. Whoever turns the mails of a category on again takes back
 * that they unsubscribed from it.
 */
export function merge(chosen: PreferencesChange, change: PreferencesChange): PreferencesChange {
  const categories = { ...chosen.categories };
  for (const [name, some] of Object.entries(change.categories ?? {}))
    categories[name] = { ...categories[name], ...some };
  const digest = change.digest ?? chosen.digest;
  const quietHours = change.quietHours === undefined ? chosen.quietHours : change.quietHours;
  const unsubscribed = [...new Set([...(chosen.unsubscribed ?? []), ...(change.unsubscribed ?? [])])].filter(
    (name) => change.categories?.[name]?.email !== true,
  );
  return {
    master: { ...chosen.master, ...change.master },
    categories,
    ...(digest && { digest }),
    ...(quietHours && { quietHours }),
    ...(unsubscribed.length > 0 && { unsubscribed }),
  };
}

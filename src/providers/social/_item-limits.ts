import type { Limits, SettingValues, Threads } from './_contract.ts';

type Settings = Readonly<Record<string, unknown>>;

/** What a network takes in posts and in the items behind them. */
export interface ThreadLimits {
  limits: Limits;
  threads: Threads;
  /** Of a comment, where they are not those of a post. */
  commentLimits?: Partial<Limits> | undefined;
  /** Posts that take no comments. */
  commentsUnless?: readonly SettingValues[] | undefined;
}

/**
 * The limits of one item: those of its type (`byType`), by the settings of the post. Later items need no media; one
 * that is a comment has no type.
 */
export function limitsOfItem(
  { limits: { byType, ...limits }, threads, commentLimits }: ThreadLimits,
  settings: Settings,
  isLater: boolean,
): Limits {
  if (isLater && threads === 'comment') return { ...limits, needsMedia: false, ...commentLimits };
  const type = byType && settingAt(settings, byType.setting);
  const own = typeof type === 'string' && Object.hasOwn(byType!.limits, type) ? byType!.limits[type] : undefined;
  return { ...limits, ...own, ...(isLater && { needsMedia: false }) };
}
const settingAt = (settings: Settings, path: string): unknown =>
  path.split('.').reduce((value: unknown, key) => Object(value)[key] as unknown, settings);

/** The values of one of `unless` that all stand in these settings; undefined where none does. */
export const exceptionOf = (unless: readonly SettingValues[] = [], settings: Settings): SettingValues | undefined =>
  unless.find((values) => Object.entries(values).every(([name, value]) => settingAt(settings, name) === value));

/** Whether a post with these settings can have items behind the first one. */
export const takesThread = (rules: ThreadLimits, settings: Settings): boolean =>
  rules.threads !== 'none' &&
  !limitsOfItem(rules, settings, false).single &&
  !(rules.threads === 'comment' && exceptionOf(rules.commentsUnless, settings));

import type { Database } from '../../../platform/db/index.ts';
import type { Limiter } from '../../../platform/flow/index.ts';
import { type Clock, ProviderError } from '../../../platform/kernel/index.ts';
import { type Limits, limitsOfItem, type Media, type Post, wholeMs } from '../../../providers/registry/index.ts';
import type { ChannelsPort, Connected } from '../channels-port.ts';
import type { Heartbeat, Link, LinksPort, MediaPort } from '../ports.ts';
import type { Log } from '../../../platform/telemetry/index.ts';
import { CALL_MS, LONGEST_CALL_MS } from '../rules.ts';
import { filesOfSettings, type SettingFile } from '../setting-files.ts';
import type { ClaimedPost } from './attempt.ts';
import type { Circuits } from './circuit.ts';
import type { Works } from './work.ts';

// What sending a post and asking about one have in common.

export interface SenderOptions {
  sql: Database;
  clock: Clock;
  channels: ChannelsPort;
  media: MediaPort;
  links: Pick<LinksPort, 'decide' | 'apply'>;
  heartbeat: Heartbeat;
  log: Log;
  late(ms: number): void;
  called(call: { provider: string; latenessMs: number; durationMs: number }): void;
  inFlight: number;
  perLane: number;
  /** Questions to networks at a time, and those in one lane. */
  lookUps: { inAll: number; perLane: number };
}
/** What sending and asking are handed. */
export interface SenderDeps extends SenderOptions {
  limiter: Limiter;
  /** Of their own: a network that hangs when it is asked holds up no post. */
  lookUpLimiter: Limiter;
  /** Of their own as well: what has time holds up nothing that is due. */
  aheadLimiter: Limiter;
  /** Of what follows posts. */
  followUpLimiter: Limiter;
  /** Of what has time, such as counts. */
  readingLimiter: Limiter;
  works: Works;
  circuits: Circuits;
  isClosed(): boolean;
}
/** All that a call needs, before it has its turn. */
export interface Ready extends Files {
  connected: Connected;
  links: readonly Link[];
}

/** A call that fails after so long has hung. */
const HANGING_MS = 10_000;

/** The files of a post, and those that its settings name (`fileSettings`). */
export interface Files {
  files: readonly Media[];
  named: Readonly<Record<string, Media>>;
}
/** The files that a post names by settings, those of its channel among them. */
export const namedOf = ({ channels }: Pick<SenderDeps, 'channels'>, claimed: ClaimedPost): SettingFile[] => {
  const { fileSettings } = channels.rules(claimed.channel.providerId, claimed.channel.providerVersion);
  return filesOfSettings(fileSettings, settingsOf(claimed));
};
/** Loads the files of a post, until `over` says that nobody needs them any more. */
export async function filesOf(
  { channels, media }: Pick<SenderDeps, 'channels' | 'media'>,
  claimed: ClaimedPost,
  over: AbortSignal,
): Promise<Files> {
  const named = namedOf({ channels }, claimed);
  const items = [...claimed.media, ...named.map(({ item }) => item)];
  if (items.length === 0) return { files: [], named: {} };
  const limits = limitsOfPost({ channels }, claimed);
  const loaded = await media.load(claimed.orgId, items, { signal: over, limits });
  const own = claimed.media.length;
  return {
    files: loaded.slice(0, own),
    named: Object.fromEntries(named.map(({ setting }, n) => [setting, loaded[own + n]!])),
  };
}

/** What the network takes in this item of a post. */
export const limitsOfPost = ({ channels }: Pick<SenderDeps, 'channels'>, claimed: ClaimedPost): Limits => {
  const { channel, isLater } = claimed;
  const rules = channels.rules(channel.providerId, channel.providerVersion);
  return limitsOfItem(rules, settingsOf(claimed), isLater);
};

/** A post as its adapter is handed it: its text in the form of the network, with short links. */
export function postOf(
  { links: { apply } }: Pick<SenderDeps, 'links'>,
  { postId, content }: ClaimedPost,
  { connected, links, files, named }: Ready,
): Post {
  const isShortened = links.some(({ short }) => short !== null);
  const { text, plain } = connected.write(content, isShortened ? (one) => apply(one, links) : undefined);
  return { id: postId, text, plain, media: files, ...(Object.keys(named).length > 0 && { files: named }) };
}

/** The settings of a post over those of its channel. */
export const settingsOf = ({ settings, channel }: ClaimedPost): Readonly<Record<string, unknown>> => ({
  ...channel.settings,
  ...settings,
});

/** How long one call with these files may last: they have the time that the tools give to their bytes. */
export function callMsOf({ files, named }: Files): number {
  const bytes = [...files, ...Object.values(named)].reduce(
    (sum, { size, thumbnail }) => sum + size + (thumbnail?.size ?? 0),
    0,
  );
  return bytes === 0 ? CALL_MS : Math.min(wholeMs(CALL_MS, bytes), LONGEST_CALL_MS);
}

/** How long a call may last, and by the monotonic clock until when its row is surely this host's. */
export interface CallTime {
  limitMs: number;
  heldUntil(): number;
}
const USUAL: CallTime = { limitMs: CALL_MS, heldUntil: () => -Infinity };

/**
 * Ends with `lost` when the network takes longer than one call may last, and breaks off what is under way; one with more
 * than the usual time also when nobody knows any longer whether its row is another host's by now. Whoever calls it ends
 * the attempt, and with it the wait.
 */
export const inTime = <T>(clock: Clock, call: Promise<T>, ended: AbortController, time?: CallTime): Promise<T> =>
  Promise.race([call, tooLate(clock, ended, time)]);

async function tooLate(clock: Clock, ended: AbortController, { limitMs, heldUntil } = USUAL): Promise<never> {
  const begun = clock.monotonic();
  for (let leftMs = CALL_MS; leftMs > 0; leftMs = Math.min(begun + limitMs, heldUntil()) - clock.monotonic())
    await clock.sleep(leftMs, ended.signal);
  ended.abort();
  const tookMs = Math.max(CALL_MS, clock.monotonic() - begun);
  throw new ProviderError('lost', `No answer within ${Math.round(tookMs / 1000)} s`);
}

/** Whether a call that failed has hung: its lane is given fewer places for a while. */
export const hasHung = (clock: Clock, called: number | undefined): boolean =>
  called !== undefined && clock.monotonic() - called >= Math.min(CALL_MS, HANGING_MS);

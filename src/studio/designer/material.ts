import { AppError, invalidField } from '../../platform/kernel/index.ts';
import { limitOfChannel } from '../text/index.ts';
import type { DesignerDeps } from './deps.ts';
import type { DesignKind } from './plan.ts';
import { SessionMessage, SessionWish } from './session.ts';

const MOST_CHANNELS = 50;
const MOST_MESSAGES = 20;

/** The channels that a session may write for: those that it names, else all that are connected. */
export async function channelsOf(deps: Pick<DesignerDeps, 'channels'>, orgId: string, { channels }: SessionWish) {
  if (channels == null)
    return (await deps.channels.list(orgId)).filter(({ disabled }) => !disabled).slice(0, MOST_CHANNELS);
  const found = new Map((await deps.channels.find(orgId, channels)).map((one) => [one.id, one]));
  return channels.flatMap((id) => found.get(id) ?? []);
}

/** Refuses what a wish names and is not there. */
export async function checkWish(deps: Pick<DesignerDeps, 'channels' | 'brandKits'>, orgId: string, wish: SessionWish) {
  const known = new Set((await channelsOf(deps, orgId, wish)).map(({ id }) => id));
  wish.channels?.forEach((id, n) => {
    if (!known.has(id)) throw invalidField(`channels.${n}`, 'there is no such channel', 'unknown_id');
  });
  if (wish.brandKitId != null && !(await brandKitOf(deps, orgId, wish)))
    throw invalidField('brandKitId', 'there is no such brand kit', 'unknown_id');
}

async function brandKitOf({ brandKits }: Pick<DesignerDeps, 'brandKits'>, orgId: string, { brandKitId }: SessionWish) {
  if (brandKitId == null) return undefined;
  return brandKits.getBrandKit(orgId, brandKitId).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'not_found') return undefined; // deleted since
    throw error;
  });
}

/** What whoever plans or writes is told: what people wrote, and no id but those of channels. */
export async function materialOf(
  deps: DesignerDeps,
  { orgId, runId }: { orgId: string; runId: string },
  input: unknown,
) {
  const wish = SessionWish.parse(input);
  const kit = await brandKitOf(deps, orgId, wish);
  const said = await deps.runs.events(orgId, [runId], 'message');
  return {
    messages: said.slice(-MOST_MESSAGES).map(({ data }) => SessionMessage.parse(data)),
    ...(wish.format != null && { format: wish.format }),
    ...(kit && {
      brandKit: {
        name: kit.name,
        colors: kit.colors,
        voice: kit.voice,
        tone: kit.tone,
        audience: kit.audience,
        hashtags: kit.hashtags,
        do: kit.doList,
        dont: kit.dontList,
      },
    }),
  };
}

/** Channels as they are told, with the length of their texts; `share` of it, as models count badly. */
export async function toldChannels(deps: DesignerDeps, orgId: string, ids: readonly string[], share = 1) {
  const rows = new Map((await deps.channels.find(orgId, ids)).map((one) => [one.id, one]));
  return Promise.all(
    ids.flatMap((id) => {
      const row = rows.get(id);
      return row
        ? [
            limitOfChannel(deps, orgId, id).then((limit) => ({
              id,
              network: row.providerId,
              limit: limit.words(share),
            })),
          ]
        : [];
    }),
  );
}

const FILES = ['image', 'video', 'edit'] as const;
/** What can be made here: kinds whose provider is set up, with the sizes of each; none: any. */
export async function toldKinds(deps: Pick<DesignerDeps, 'mediaJobs'>, orgId: string) {
  const all = await Promise.all(
    FILES.map(async (kind) => {
      const takes = await deps.mediaJobs.takes(orgId, kind);
      return takes && { kind, sizes: [...(takes.sizes ?? []), ...(takes.ratios ?? [])] };
    }),
  );
  const copy: { kind: DesignKind; sizes: string[] } = { kind: 'copy', sizes: [] };
  return [copy, ...all.filter((one) => one !== undefined)];
}

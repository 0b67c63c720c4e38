import { keepAnswer, type KeptAnswer, type Sql } from '../../../platform/db/index.ts';
import { AppError, invalidField, isId, newId, notFound, type RowPage, pageOf } from '../../../platform/kernel/index.ts';
import type { PostsDeps } from '../deps.ts';
import { changeTag, insertTag, lockTag, type TagFields } from '../tags.ts';
import * as store from './store.ts';

// Campaigns (S188). Posts join one by its tag, and stay when it is deleted.

type Needs = Pick<PostsDeps, 'sql' | 'billing'>;

const unknownCampaign = () => notFound('Campaign not found');

export async function listCampaigns(
  { sql }: Pick<Needs, 'sql'>,
  orgId: string,
  page: { limit: number; cursor?: string | undefined },
): Promise<RowPage<store.CampaignRow>> {
  return pageOf(await store.selectCampaigns(sql, orgId, page), page.limit);
}

/** Throws `not_found`. */
export async function getCampaign(
  { sql }: { sql: Sql },
  orgId: string,
  campaignId: string,
): Promise<store.CampaignRow> {
  const row = await store.findCampaign(sql, orgId, campaignId);
  if (!row) throw unknownCampaign();
  return row;
}

/** What a new campaign is made of: a tag that is made with it, or one that there is. */
export type NewCampaign = store.CampaignFields & { createdBy: string } & (
    | { tagId: string }
    | { tagId?: undefined; name: string; color?: string | undefined }
  );

/**
 * Makes a campaign.
 * @throws AppError `plan_required` where the plan has none (LM5), `conflict` for a name or a tag that is taken
 */
export const createCampaign = (
  { sql, billing }: Needs,
  orgId: string,
  campaign: NewCampaign,
  kept?: KeptAnswer<store.CampaignRow>,
) =>
  sql.begin(async (tx): Promise<store.CampaignRow> => {
    await billing.require(tx, orgId, 'campaigns');
    checkDates(campaign.startDate ?? null, campaign.endDate ?? null);
    const { description, startDate, endDate, createdBy } = campaign;
    const tagId =
      campaign.tagId === undefined
        ? (await insertTag({ sql: tx }, orgId, campaign)).id
        : await keepTag(tx, orgId, campaign.tagId);
    const id = newId();
    if (!(await store.insertCampaign(tx, orgId, { id, tagId, description, startDate, endDate, createdBy })))
      throw new AppError('conflict', 'The tag is that of another campaign', {
        errors: [{ field: 'tagId', message: 'tagId: is the tag of another campaign', rule: 'taken' }],
      });
    const row = await getCampaign({ sql: tx }, orgId, id);
    await keepAnswer(tx, kept, row);
    return row;
  });

/** A tag that is named stays until the commit. */
async function keepTag(sql: Sql, orgId: string, tagId: string): Promise<string> {
  const found =
    isId(tagId) &&
    (await sql`
      select
      from tags
      where org_id = ${orgId}
        and id = ${tagId}
      for key share`);
  if (!found || found.length === 0) throw invalidField('tagId', 'names no tag of this organization', 'unknown_id');
  return tagId;
}

/**
 * Changes a campaign and its tag; what is absent stays. `onlyIf` is asked about the campaign once it is locked: false, and
 * nothing is changed.
 * @throws AppError `not_found`, and `conflict` for the name of another tag
 */
export const changeCampaign = (
  { sql }: Pick<Needs, 'sql'>,
  orgId: string,
  campaignId: string,
  { name, color, ...change }: store.CampaignFields & TagFields,
  onlyIf?: (campaign: store.CampaignRow) => boolean,
) =>
  sql.begin(async (tx): Promise<store.CampaignRow> => {
    const locked = await store.lockCampaign(tx, orgId, campaignId);
    if (!locked) throw unknownCampaign();
    if (onlyIf) {
      await lockTag({ sql: tx }, orgId, locked.tagId);
      const campaign = await getCampaign({ sql: tx }, orgId, campaignId);
      if (!onlyIf(campaign)) return campaign;
    }
    const { startDate = locked.startDate, endDate = locked.endDate } = change;
    checkDates(startDate, endDate);
    if (name !== undefined || color !== undefined) await changeTag({ sql: tx }, orgId, locked.tagId, { name, color });
    await store.updateCampaign(tx, orgId, campaignId, change);
    return getCampaign({ sql: tx }, orgId, campaignId);
  });

/**
 * Deletes a campaign with its tag; its posts stay.
 * @throws AppError `not_found`, and `conflict` while a brake stands on it, whose posts nobody could resume any more
 */
export const removeCampaign = ({ sql, billing }: Needs, orgId: string, campaignId: string) =>
  sql.begin(async (tx): Promise<void> => {
    await billing.lockOrg(tx, orgId); // as whoever puts a brake on it
    const locked = await store.lockCampaign(tx, orgId, campaignId);
    if (!locked) throw unknownCampaign();
    if (await store.hasBrake(tx, orgId, locked.tagId))
      throw new AppError('conflict', 'Publishing of this campaign is paused: resume it before you delete it');
    await store.deleteCampaign(tx, orgId, { id: campaignId, tagId: locked.tagId });
  });

/** Who made a campaign; undefined when it is not there. */
export async function findCampaignAuthor(
  { sql }: Pick<Needs, 'sql'>,
  orgId: string,
  campaignId: string,
): Promise<string | null | undefined> {
  if (!isId(campaignId)) return undefined;
  const [row] = await sql<{ createdBy: string | null }[]>`
    select created_by as "createdBy"
    from campaigns
    where org_id = ${orgId}
      and id = ${campaignId}`;
  return row?.createdBy;
}

function checkDates(start: string | null, end: string | null): void {
  if (start !== null && end !== null && end < start) throw invalidField('endDate', 'is before startDate', 'date');
}

import { invalidField, isId, newId } from '../../platform/kernel/index.ts';
import { checkSettings, type SocialAdapter } from '../../providers/registry/index.ts';
import { filesOfSettings } from '../posts/index.ts';
import { ensureCustomer, setCustomer } from './customer-store.ts';
import { type ChannelsDeps, getChannelRow, unknownChannel } from './deps.ts';
import { adapterOfChannel } from './reading.ts';
import { readAdditional } from './rules.ts';
import { type Details, updateDetails } from './store.ts';

// What people set of a channel beside its login.

type Deps = Pick<ChannelsDeps, 'sql'>;

/** Puts a channel into the group of that name, made on first use. */
export async function setGroupByName(deps: Deps, orgId: string, id: string, name: string): Promise<void> {
  await getChannelRow(deps, orgId, id);
  await setGroup(deps, orgId, id, await ensureCustomer(deps.sql, orgId, newId(), name));
}

/** Puts a channel into a group by id; null takes it out. */
export async function setGroup({ sql }: Deps, orgId: string, id: string, customerId: string | null): Promise<void> {
  if (!isId(id)) throw unknownChannel();
  const isGroup = customerId === null || isId(customerId);
  const result = isGroup ? await setCustomer(sql, orgId, id, customerId) : 'unknown_group';
  if (result === 'missing') throw unknownChannel();
  if (result === 'unknown_group') throw invalidField('group', 'there is no such group', 'unknown_id');
}

/** Sets the minutes after midnight in the org's zone (S138). */
export const setPostingTimes = (deps: Deps, orgId: string, id: string, minutes: readonly number[]): Promise<void> =>
  update(deps, orgId, id, { postingTimes: [...new Set(minutes)].toSorted((a, b) => a - b) });

/** Sets the provider's own settings of the channel, as JSON text (S140). */
export async function setAdditional(
  deps: Pick<ChannelsDeps, 'sql' | 'providers' | 'media'>,
  orgId: string,
  id: string,
  text: string,
): Promise<void> {
  const channel = await getChannelRow(deps, orgId, id);
  const settings = readAdditional(text);
  const adapter = adapterOfChannel(deps, channel);
  if (adapter) {
    checkSettings(adapter, settings, 'additionalSettings');
    checkSync(adapter, settings);
    const files = filesOfSettings(adapter.fileSettings, settings); // of each post that names none itself
    await deps.media.judge(
      orgId,
      files.map(({ setting, item }) => ({ at: `additionalSettings.${setting}`, items: [item], isOne: true })),
    );
  }
  await update(deps, orgId, id, { additional: { text, settings } });
}

/** `syncComments` says whether the comments below posts of the channel are read. */
function checkSync({ title, comments }: SocialAdapter, { syncComments }: Readonly<Record<string, unknown>>): void {
  if (syncComments === undefined) return;
  const field = 'additionalSettings.syncComments';
  if (typeof syncComments !== 'boolean') throw invalidField(field, 'must be true or false', 'invalid_type');
  if (syncComments && !comments) throw invalidField(field, `${title} has no comments that can be read`, 'unsupported');
}

/** Sets the name and the picture that are shown; without a picture, the one there is stays. */
export const setShown = (
  deps: Deps,
  orgId: string,
  id: string,
  shown: { name: string; picture?: string | null | undefined },
): Promise<void> => update(deps, orgId, id, { shown });

async function update({ sql }: Deps, orgId: string, id: string, details: Details): Promise<void> {
  if (!isId(id) || !(await updateDetails(sql, orgId, id, details))) throw unknownChannel();
}

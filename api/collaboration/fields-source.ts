import type { z } from 'zod';
import type { Context } from '../../src/context.ts';
import { parse, sha256Hex } from '../../src/platform/kernel/index.ts';
import { canonical, type Contents } from '../../src/studio/collaboration/index.ts';
import { BrandKitChange } from '../resources/brand-kits/shape.ts';
import { CampaignChange } from '../resources/campaigns/shape.ts';
import { changedFields, type Source, unlessGone } from './source.ts';

type Settings = Contents['settings'];

interface Fields<Row, Change> {
  find(): Promise<Row>;
  /** What the document holds of a row. */
  settingsOf(row: Row): Settings;
  form: z.ZodType<Change>;
  /** Changes the row where `onlyIf` says so of what it holds then. */
  change(change: Change, onlyIf: (row: Row) => boolean): Promise<unknown>;
}

/** A row with named fields: those are changed that were typed into, where the row still says what was read. */
function fieldsSource<Row, Change extends object>({ find, settingsOf, form, change }: Fields<Row, Change>): Source {
  return {
    roots: ['settings'],
    async read() {
      const row = await unlessGone(find());
      if (row === undefined) return undefined;
      const settings = settingsOf(row);
      return {
        contents: { content: '', settings, media: [] },
        version: sha256Hex(canonical(settings)),
        closed: null,
      };
    },
    async prepare(wanted, agreed, now) {
      const sent = parse(form, changedFields(wanted.settings, agreed.settings));
      const { settings } = now.contents;
      return {
        contents: { ...now.contents, settings: { ...settings, ...sent } },
        async commit() {
          let isAsRead = false;
          const onlyIf = (row: Row) => (isAsRead = canonical(settingsOf(row)) === canonical(settings));
          await unlessGone(change(sent, onlyIf));
          return isAsRead;
        },
      };
    },
  };
}

/** A campaign with the name and the color of its tag. */
export const campaignSource = ({ posts }: Pick<Context, 'posts'>, orgId: string, id: string): Source =>
  fieldsSource({
    find: () => posts.getCampaign(orgId, id),
    settingsOf: ({ name, color, description, startDate, endDate }) => ({
      name,
      color,
      description,
      startDate,
      endDate,
    }),
    form: CampaignChange,
    change: (change, onlyIf) => posts.changeCampaign(orgId, id, change, onlyIf),
  });

/** A brand kit. */
export const brandKitSource = ({ brandKits }: Pick<Context, 'brandKits'>, orgId: string, id: string): Source =>
  fieldsSource({
    find: () => brandKits.getBrandKit(orgId, id),
    settingsOf(kit) {
      const { id: _, ...settings } = kit;
      return settings;
    },
    form: BrandKitChange,
    change: (change, onlyIf) => brandKits.changeBrandKit(orgId, id, change, onlyIf),
  });

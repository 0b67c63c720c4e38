import type { Fragment, Sql } from '../../../../platform/db/index.ts';
import type { PostChange } from '../input.ts';

/** What the settings of the row `alias` become. */
const settingsAfter = (sql: Sql, settings: PostChange['settings'], alias: string): Fragment => sql`(
            case when ${settings?.merge ?? false} then ${sql(alias)}.settings else '{}' end
            || ${JSON.stringify(settings?.values ?? {})}::text::jsonb
          )`;

/** The row `b` gets the settings given for the post `t`: those of a first item are the settings of its whole thread. */
export const getsSettings = (sql: Sql, settings: PostChange['settings']): Fragment =>
  settings === undefined ? sql`false` : sql`(b.is_target or t.root_post_id is null)`;

/** The settings of an item that is not out become others. */
export const settingsChange = (sql: Sql, settings: PostChange['settings']): Fragment => sql`exists (
            select
            from thread b
            where ${getsSettings(sql, settings)}
              and b.state <> 'PUBLISHED'
              and b.settings is distinct from ${settingsAfter(sql, settings, 'b')}
          )`;

export const editedSettings = (sql: Sql, settings: PostChange['settings']): Fragment => sql`case
          when ${getsSettings(sql, settings)} then ${settingsAfter(sql, settings, 'p')}
          else p.settings
        end`;

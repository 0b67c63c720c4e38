import type { Sql } from '../platform/db/index.ts';
import { newId } from '../platform/kernel/index.ts';
import type { Admission } from './admit.ts';

/** What takes one of the video exports of the billing month: `ref` names it, so that it can be given back. */
export interface Credits {
  /** Takes one; throws `limit_exceeded` when none is left. In the caller's transaction. */
  takeExport(sql: Sql, orgId: string, ref: string): Promise<void>;
  /** Gives it back; does nothing where it was given back before. */
  giveBackExport(sql: Sql, orgId: string, ref: string): Promise<void>;
}

export const openCredits = ({ admit }: Pick<Admission, 'admit'>): Credits => ({
  async takeExport(sql, orgId, ref) {
    await admit(sql, orgId, 'video_exports');
    await sql`
      insert into credits (id, org_id, type, ref, created_at) -- in the month that it was judged in
      values (${newId()}, ${orgId}, 'video_export', ${ref}, clock_timestamp())`;
  },
  async giveBackExport(sql, orgId, ref) {
    await sql`delete from credits where org_id = ${orgId} and type = 'video_export' and ref = ${ref}`;
  },
});

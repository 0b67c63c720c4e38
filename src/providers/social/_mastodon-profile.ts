import { z } from 'zod';
import type { SocialAdapter } from './_contract.ts';
import { federatedHandle, localName } from './_handles.ts';
import { Account } from './_mastodon-statuses.ts';

const Known = Account.extend({ followers_count: z.int().nullish(), statuses_count: z.int().nullish() });
/** Pixelfed says so with status 400. */
const Nobody = z.object({ error: z.literal('Record not found') });

/** The look-up of an account at its own server, which asks for no login. */
export const profileOfAnybody = (example: string): NonNullable<SocialAdapter['publicProfile']> => ({
  by: 'anyone',
  example,
  read: (typed) => federatedHandle(typed, 'instance'),
  async find({ http, values, handle }) {
    const query = { acct: localName(handle) };
    const found = await http.find('/v1/accounts/lookup', Known, { query, absent: Nobody });
    return (
      found && {
        id: `${found.id}@${new URL(values['instance']!).host}`,
        name: found.display_name || found.username,
        picture: found.avatar,
        counts: { followers: found.followers_count, posts: found.statuses_count },
      }
    );
  },
});

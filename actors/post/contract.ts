import { z } from 'zod';
import { actorContract, method, reminder } from '../../src/platform/actor-runtime/index.ts';
import { PostAuthor, PostChange } from '../../src/publishing/posts/index.ts';

const by = PostAuthor.optional();
/** What a neighbour may say of a date and a status: it speaks for no user. */
const NewDate = z.strictObject({ date: z.coerce.date(), action: z.enum(['schedule', 'update']) });
const NewStatus = z.strictObject({ status: z.enum(['draft', 'schedule']) });
const Changed = z.strictObject({ state: z.string(), publishDate: z.coerce.date() });

/**
 * One actor per post: what people do to it, and what surrounds its publishing. The Channel publishes; the row owns the
 * content. The id is `<orgId>:<postId>`.
 */
export const postActor = actorContract('Post', {
  methods: {
    edit: method({ input: PostChange, output: Changed }),
    setDate: method({ input: NewDate.extend({ by }), output: Changed, neighbours: NewDate }),
    setStatus: method({ input: NewStatus.extend({ by }), output: Changed, neighbours: NewStatus }),
    cancel: method({ input: z.strictObject({ by }) }), // deletes the post with what follows it in its thread
    retry: method({ input: z.strictObject({ confirm: z.boolean(), by }) }),
    setRelease: method({ input: z.strictObject({ releaseId: z.string(), by }) }),
    approve: method({
      input: z.strictObject({
        by: PostAuthor,
        contentHash: z.string().optional(),
        publishDate: z.coerce.date().optional(),
      }),
    }),
    reject: method({ input: z.strictObject({ by: PostAuthor, reason: z.string() }) }),
    requestApproval: method({ input: z.strictObject({ by: PostAuthor }) }),
    followUp: method({ input: z.strictObject({}) }), // something follows it now; the row carries the guarantee
  },
  // carried by posts.look_up_at, posts.prepare_at and post_follow_ups.due_at, each with a scan of the reconciler
  reminders: { 'look-up': reminder, poll: reminder, prepare: reminder, 'follow-up': reminder },
});

/** The reminder that looks up a post whose outcome is not known, by what is unknown of it. */
export const LOOK_UPS = { unconfirmed: 'look-up', processing: 'poll' } as const;

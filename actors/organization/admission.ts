import type { Billing, PostQuota } from '../../src/entitlements/index.ts';
import { asCallerError } from '../../src/platform/db/index.ts';
import { type AppError, busy, limitExceeded } from '../../src/platform/kernel/index.ts';
import { type Create, type Posts, rootsOf } from '../../src/publishing/posts/index.ts';

export interface AdmissionNeeds {
  posts: Pick<Posts, 'admitPosts' | 'findKnownPosts'>;
  billing: Pick<Billing, 'enabled' | 'quota'>;
}
/** What the Organization remembers: how much room its rows left when it last looked or wrote. */
export interface Room {
  quota?: (PostQuota & { used: number }) | undefined;
}
interface Waiting {
  n: number;
  create: Create;
}

/** Another activation, or a change of the plan, comes between a look and a commit only so often. */
const MOST_STALE = 20;
const RETRY_MS = 500;

/**
 * Lets in the creates that the plan has room for, in the order of their coming; each whole or not at all, one error or
 * nothing for each. Memory decides and the commit is conditional on the rows, so that a second activation elsewhere
 * cannot admit past the limit with it; a refusal is spoken only after a look at the rows.
 */
export async function admitPosts(
  orgId: string,
  creates: readonly Create[],
  { posts, billing }: AdmissionNeeds,
  room: Room,
): Promise<(AppError | undefined)[]> {
  if (!billing.enabled) return (await posts.admitPosts(orgId, creates)).map(({ refused }) => refused);
  const answers: (AppError | undefined)[] = creates.map(() => undefined);
  let waiting: Waiting[] = creates.map((create, n) => ({ n, create }));
  // what was stored before stays answered as stored
  const refuse = (error: AppError) => waiting.forEach(({ n }) => (answers[n] = error));

  let looked = false; // at the rows, since the last commit
  let stale = 0;
  while (waiting.length > 0) {
    if (!room.quota) {
      try {
        room.quota = await billing.quota(orgId);
      } catch (error) {
        refuse(asCallerError(error));
        break;
      }
      looked = true;
    }
    const { quota } = room;
    const { fitting, over } = divide(waiting, quota.max - quota.used);
    if (fitting.length > 0) {
      const admitted = await posts.admitPosts(
        orgId,
        fitting.map(({ create }) => create),
        quota,
      );
      const again = fitting.filter((_, n) => admitted[n]!.stale);
      fitting.forEach(({ n: at }, n) => (answers[at] = admitted[n]!.refused));
      room.quota =
        again.length > 0 ? undefined : { ...quota, used: Math.max(...admitted.map(({ used }) => used ?? quota.used)) };
      looked = false;
      waiting = [...again, ...over].toSorted((a, b) => a.n - b.n);
      if (again.length > 0 && ++stale === MOST_STALE) {
        refuse(busy(RETRY_MS));
        break;
      }
    } else if (looked) {
      waiting = await unknown(orgId, over, posts);
      refuse(limitExceeded('posts_per_month', quota.max));
      break;
    } else room.quota = undefined;
  }
  return answers;
}

/** Without those that are stored already: a call that came twice, whose first run took the last of the room. */
async function unknown(orgId: string, waiting: readonly Waiting[], posts: AdmissionNeeds['posts']): Promise<Waiting[]> {
  const idOf = ({ create }: Waiting) => create.posts[0]!.id;
  const known = await posts.findKnownPosts(orgId, waiting.map(idOf));
  return waiting.filter((one) => !known.has(idOf(one)));
}

/** A create that finds no room does not keep a smaller one behind it out. */
function divide(waiting: readonly Waiting[], left: number): { fitting: Waiting[]; over: Waiting[] } {
  const fitting: Waiting[] = [];
  const over: Waiting[] = [];
  for (const one of waiting) {
    const roots = rootsOf(one.create);
    if (roots > 0 && roots > left) over.push(one); // edits alone take no room
    else {
      left -= roots;
      fitting.push(one);
    }
  }
  return { fitting, over };
}

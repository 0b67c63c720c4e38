import { findHeldEdits } from '../approval/consent-of-edit.ts';
import type { PostsDeps } from '../deps.ts';
import type { LoginFacts, Paced } from '../channels-port.ts';
import { pacesFor } from '../rules.ts';
import { dateShiftOf, type SentBody } from './body.ts';
import type { ChannelSummary } from './channels.ts';
import { elementItems, statusOf, typedSettings } from './compose.ts';
import type { PostAuthor } from './input.ts';
import type { JudgedBody, JudgedElement } from './judgement.ts';
import { findNeighbours, findTwins, type Planned } from './neighbours.ts';
import type { Outlook, PaceBudget } from './warnings.ts';

// What may come to posts that are to be written: by their logins, by what their channels have near their dates, and by
// each other.

type Needs = Pick<PostsDeps, 'sql' | 'channels' | 'billing'>;

/** A judged body as it was sent. */
export interface AskedBody extends JudgedBody {
  sent: SentBody;
}
/** An element that has a channel, with its number over all bodies. */
interface KnownElement extends JudgedElement {
  n: number;
  /** Itself, as its body has it. */
  of: JudgedElement;
  asked: AskedBody;
  to: NonNullable<JudgedElement['to']>;
  thread: NonNullable<JudgedElement['thread']>;
  date: Date | undefined;
}
type PlannedElement = Planned & { postId: string | undefined; goesOut: boolean };

/**
 * Finds out what may come to each element that has a channel, as if those of all bodies were stored together. The
 * number of statements does not depend on theirs.
 */
export async function findOutlooks(
  deps: Needs,
  orgId: string,
  bodies: readonly AskedBody[],
  by: PostAuthor,
): Promise<ReadonlyMap<JudgedElement, Outlook>> {
  const known = bodies.flatMap(knownElements).map((one, n) => ({ ...one, n }));
  const [logins, overLimit, heldEdits] = await Promise.all([
    findLogins(deps, orgId, known),
    findOverLimit(deps, orgId, bodies),
    findHeldEdits(deps.sql, orgId, known.flatMap(editOf(by))),
  ]);
  const byChannel = new Map(logins.map((login) => [login.channelId, login]));
  const windowsOf = ({ to }: Pick<KnownElement, 'to'>) => dayPaces(byChannel.get(to.channel.id)?.paces ?? []);
  const planned = known.flatMap(plannedOf);
  const paces = planned.flatMap(({ n, channelId, date }) =>
    windowsOf(known[n]!).map(({ key, ms }) => ({ n, channelId, date, key, ms })),
  );
  const edited = known.flatMap(({ root }) => root?.id ?? []);
  const { duplicates, paces: found } = await findNeighbours(deps.sql, orgId, { planned, paces, edited });
  const duplicate = new Set(duplicates);
  const twins = findTwins(planned);
  const rivals = Map.groupBy(paces, ({ key }) => key);
  const elements = new Map(planned.map((one) => [one.n, one]));
  const budgetsOf = (n: number, windows: LoginFacts['paces']): PaceBudget[] =>
    windows.flatMap((window) => {
      const own = found.find((one) => one.n === n && one.key === window.key);
      const others = (rivals.get(window.key) ?? []).map((one) => elements.get(one.n)!); // each is of a planned one
      return own ? [{ ...window, found: own, before: countBefore(elements.get(n)!, others, window.ms) }] : [];
    });
  return new Map(
    known.map(({ n, of, asked, ...one }) => [
      of,
      {
        ...one,
        login: byChannel.get(one.to.channel.id),
        duplicate: duplicate.has(n) ? 'post' : twins.has(n) ? 'entry' : undefined,
        budgets: budgetsOf(n, windowsOf(one)),
        isHeld: one.root ? heldEdits.has(n) : isQueued(asked.sent.type, undefined) && asksApproval(one.to.channel, by),
        shift: dateShiftOf(asked.sent),
        overLimit: one.root ? limitOfEdit(one.root, asked.body) : overLimit,
      },
    ]),
  );
}

function knownElements(asked: AskedBody): Omit<KnownElement, 'n'>[] {
  const { body, now, elements } = asked;
  return elements.flatMap((of) => {
    const { to, thread, root } = of;
    const date = body.type === 'now' ? now : (body.date ?? root?.publishDate);
    return to && thread ? [{ ...of, of, asked, to, thread, date }] : [];
  });
}

/** Whether posts of this author wait for approval on a channel. */
const asksApproval = ({ approvalRequired }: ChannelSummary, by: PostAuthor): boolean =>
  approvalRequired === 'all' || (approvalRequired === 'members' && !by.schedulesFreely);

const editOf =
  (by: PostAuthor) =>
  ({ n, root, asked, element, to: { channel } }: KnownElement) => {
    if (!root) return [];
    const settings = typedSettings(element.settings, channel.providerId);
    const isHeld = asksApproval(channel, by);
    return [{ n, root, status: statusOf(asked.body), isHeld, items: elementItems(element), settings }];
  };

/** Whether an element is in the queue once it is stored, unless it is held. */
const isQueued = (type: SentBody['type'], root: JudgedElement['root']): boolean =>
  type === 'update' ? root?.state === 'QUEUE' : type !== 'draft';

const plannedOf = ({ n, to, date, root, asked, element: { value } }: KnownElement): PlannedElement[] =>
  date === undefined
    ? []
    : [
        {
          n,
          channelId: to.channel.id,
          date,
          content: value[0]!.content,
          media: value[0]!.image,
          postId: root?.id,
          goesOut: isQueued(asked.body.type, root),
        },
      ];

/** Shorter windows say nothing about a day. */
const LEAST_WINDOW_MS = 60_000;
/** The windows that a post takes a place in, as far as they say something about a day. */
const dayPaces = <P extends Pick<Paced, 'of' | 'ms'>>(paces: readonly P[]): P[] =>
  pacesFor(paces, 'posts').filter(({ ms }) => ms >= LEAST_WINDOW_MS);

/** The logins that may say something: those of channels with windows, or which end before a post goes out. */
async function findLogins({ channels }: Needs, orgId: string, known: readonly KnownElement[]): Promise<LoginFacts[]> {
  const asked = known.filter(({ to: { channel, rules }, date }) => {
    const ends = channel.tokenExpiresAt !== null && date !== undefined && channel.tokenExpiresAt <= date;
    return ends || dayPaces(rules.pace).length > 0;
  });
  const ids = [...new Set(asked.map(({ to }) => to.channel.id))];
  return ids.length === 0 ? [] : channels.loginFacts(orgId, ids);
}

/**
 * Counts the elements that take a place before this one in the window that ends at its date. A draft takes none from
 * what goes out, and two changes of one post take one.
 */
function countBefore(own: PlannedElement, others: readonly PlannedElement[], ms: number): number {
  const at = own.date.getTime();
  const ahead = others.filter((other) => {
    const since = at - other.date.getTime();
    return (
      (other.goesOut || !own.goesOut) &&
      (own.postId === undefined || other.postId !== own.postId) &&
      since < ms &&
      (since > 0 || (since === 0 && other.n < own.n))
    );
  });
  return new Set(ahead.map(({ postId, n }) => postId ?? n)).size;
}

/** That the plan has no room for a post which gets a status by its edit. */
const limitOfEdit = ({ isOverLimit }: NonNullable<JudgedElement['root']>, body: AskedBody['body']) =>
  isOverLimit && statusOf(body) !== undefined ? 'The plan has no room for this post' : undefined;

/** The limit of posts, where the new posts of all bodies are more than it leaves room for. */
async function findOverLimit(
  { billing }: Needs,
  orgId: string,
  bodies: readonly JudgedBody[],
): Promise<string | undefined> {
  const wanted = bodies.flatMap(({ elements }) => elements).filter(({ root }) => !root).length;
  if (!billing.enabled || wanted === 0) return undefined;
  const { max, used } = await billing.quota(orgId);
  return used + wanted > max ? `Plan limit reached: posts_per_month (${max})` : undefined;
}

// A history as plain data: what the judge of `history.ts` is given, and what it answers.

/** One create that the driver sent, and what it was answered. */
export interface Created {
  /** 201: acknowledged; 0: no answer came, so nobody knows. */
  status: number;
  postId: string | undefined;
  channelId: string;
  /** Of the channel at the network. */
  account: string;
  due: Date;
  /** When the answer came. */
  answeredAt: Date;
  /** How long the network was told to take over it. */
  latencyMs: number;
  /** The body of the answer. */
  said?: string;
  /** The texts of its thread, the first of the post itself; undefined: not compared. */
  texts?: readonly string[];
  firstComment?: string | undefined;
  /** Channels that repeat it once it is out, by their accounts at the network. */
  repostedBy?: readonly string[] | undefined;
  recurs?: boolean | undefined;
}
/** One change of a post that the driver asked for; without `text`, `due` and `isDeleted` nothing was changed. */
export interface Edited {
  postId: string;
  /** 2xx: acknowledged; 0 or 5xx: nobody knows whether it was made; else refused. */
  status: number;
  answeredAt: Date;
  text?: string;
  due?: Date;
  isDeleted?: true;
}
/** One request as the network noted it, in the order of `seq`. */
export interface LedgerRow {
  seq: number;
  at: Date;
  account: string;
  postId: string | null;
  step: string;
  text: string;
  replyTo: string | null;
  idempotencyKey: string | null;
  accepted: boolean;
  answered: string;
}
/** One request that the receiver got, with its raw bytes and what it answered. */
export interface ReceivedHook {
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Buffer;
  status: number;
}
export interface Hook {
  id: string;
  secret: string;
  /** Every channel that it listens to, spelled out. */
  channelIds: readonly string[];
}
/** Rows of the product, recounted by plain SQL after the fault. */
export interface PostRow {
  id: string;
  orgId: string;
  /** The first item of its thread; null: it is that. */
  rootId: string | null;
  /** Shared by the posts of a series. */
  groupId: string;
  createdAt: Date;
  /** False: it waits for room in the plan. */
  isGranted: boolean;
  state: string;
  detail: string | null;
  error: string | null;
  attempt: number;
  deleted: boolean;
  releaseId: string | null;
}
export interface DeliveryRow {
  id: string;
  webhookId: string;
  postId: string;
  attempts: number;
}
/** What was to follow a post, as the product tells its outcome. */
export interface FollowUpRow {
  postId: string;
  kind: string;
  state: string;
  releaseId: string | null;
}
/** From `at` on an organization may create so many posts. */
export interface LimitStep {
  orgId: string;
  at: Date;
  max: number;
}
/** A counter of the product beside the rows that it counts. */
export interface Counter {
  orgId: string;
  of: 'posts' | 'storage';
  counted: number;
  rows: number;
}
export interface Money {
  /** Events of payments with the answer to each of their deliveries. */
  events: readonly { id: string; answers: readonly { status: number; isIgnored: boolean }[] }[];
  /** What is left of the events of an account; all that had the same events, in whatever order, are left with the same. */
  left: readonly { account: string; events: string; left: string }[];
  /** Each entry of the ledger with the window that it counts in. */
  entries: readonly { window: string; kind: string; micros: number }[];
  balances: readonly { window: string; spent: number; reserved: number }[];
}
/** An organization that takes no part. */
export interface Canary {
  /** Its account at the network. */
  account: string;
  /** Its rows, by table and id, before the fault and after it. */
  before: Readonly<Record<string, string>>;
  after: Readonly<Record<string, string>>;
  /** Rows of others that name one of its rows. */
  named: readonly string[];
  /** What was answered to others who asked for what it has, or tried to change it. */
  asked: readonly { what: string; status: number; /** What they are to be answered. */ refusal: number }[];
}
/** A row that a 2xx has acknowledged, beside posts. */
export interface Written {
  what: string;
  id: string;
  isThere: boolean;
}

export interface History {
  created: readonly Created[];
  edited: readonly Edited[];
  ledger: readonly LedgerRow[];
  received: readonly ReceivedHook[];
  hooks: readonly Hook[];
  /** Signs every delivery of the deployment. */
  deploymentSecret: string;
  posts: readonly PostRow[];
  deliveries: readonly DeliveryRow[];
  followUps: readonly FollowUpRow[];
  limits: readonly LimitStep[];
  counters: readonly Counter[];
  money: Money;
  /** Undefined: none was planted. */
  canary: Canary | undefined;
  written: readonly Written[];
  /** What somebody did, or had to do, once the fault was over. */
  hands: readonly string[];
  /** Whether somebody watched that nobody did. */
  isLetAlone: boolean;
  /** Mails with each status that their rows had, in that order, and what their provider told and was answered 2xx. */
  mails: readonly { id: string; seen: readonly string[]; told: readonly string[] }[];
}
export type Invariant = `I${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12}`;
export interface Violation {
  invariant: Invariant;
  says: string;
}

export const NO_MONEY: Money = { events: [], left: [], entries: [], balances: [] };

/** Makes violations of one invariant. */
export const say =
  (invariant: Invariant) =>
  (says: string): Violation => ({ invariant, says });

type Acknowledged = Created & { postId: string };
/** The creates that were answered with success. */
export const acknowledged = ({ created }: Pick<History, 'created'>): Acknowledged[] =>
  created.filter((one): one is Acknowledged => one.status === 201 && one.postId !== undefined);
/** The requests by which posts and items of threads are published. */
export const publishing = ({ ledger }: Pick<History, 'ledger'>): LedgerRow[] =>
  ledger.filter(({ step }) => step === 'publish' || step === 'reply');
/** Whether nobody knows what became of what was answered so. */
export const isUnknown = (status: number): boolean => status === 0 || status >= 500;
export const isTaken = (status: number): boolean => status >= 200 && status < 300;

/** Groups in the order of their first items. */
export function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}

/** A count that networks tell of posts and channels. */
interface MetricFacts {
  label: string;
  /** Of a channel: `flow` is what came about on a day, and days add up; `stock` is what there is at the end of a day. */
  kind: 'flow' | 'stock';
  unit: 'count' | 'minutes';
  /** Somebody did something with a post: counts for its best times. */
  isEngagement?: true;
}

const flow = (label: string, more: Pick<MetricFacts, 'isEngagement'> = {}): MetricFacts => ({
  label,
  kind: 'flow',
  unit: 'count',
  ...more,
});
const engagement = (label: string) => flow(label, { isEngagement: true });
const stock = (label: string): MetricFacts => ({ label, kind: 'stock', unit: 'count' });

/** The catalogue of metrics: every count of an adapter is one of these. Of a post each is a running total. */
export const METRICS = {
  impressions: flow('Impressions'),
  views: flow('Views'),
  reach: flow('Reach'),
  likes: engagement('Likes'),
  dislikes: engagement('Dislikes'),
  reactions: engagement('Reactions'),
  comments: engagement('Comments'),
  reposts: engagement('Reposts'),
  quotes: engagement('Quotes'),
  shares: engagement('Shares'),
  saves: engagement('Saves'),
  clicks: engagement('Clicks'),
  engagements: flow('Engagements'), // a network's own sum of the above
  watchMinutes: { label: 'Minutes watched', kind: 'flow', unit: 'minutes' },
  followers: stock('Followers'),
  followersGained: flow('Followers gained'),
  followersLost: flow('Followers lost'),
  profileViews: flow('Profile views'),
  posts: stock('Posts'),
  calls: flow('Calls'),
  directions: flow('Requests for directions'),
  messages: flow('Messages'),
} as const satisfies Readonly<Record<string, MetricFacts>>;
export type Metric = keyof typeof METRICS;

export const isMetric = (name: string): name is Metric => Object.hasOwn(METRICS, name);

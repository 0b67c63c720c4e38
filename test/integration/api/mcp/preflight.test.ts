import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { override, subscribe, WITH_BILLING } from '../../../support/worlds/billing.ts';
import { called } from '../../../support/worlds/mcp.ts';
import { type Product, wholeProduct } from '../../../support/worlds/product.ts';

let product: Product;
let ann: Awaited<ReturnType<Product['signUp']>>;
let key: typeof ann.client;
let channelId: string;
beforeAll(async () => {
  product = await wholeProduct({ sandbox: true, env: WITH_BILLING });
  ann = await product.signUp();
  await subscribe(product.db.sql, ann.orgId, { tier: 'PRO' });
  key = await ann.withKey();
  const connect = { fields: { name: 'Net' }, allowPreview: true };
  channelId = (await ann.client.post('/integrations/social-connect/sandbox', connect)).body.id;
}, 60_000);
afterAll(() => product[Symbol.asyncDispose]());

const at = (hours: number) => new Date(Date.UTC(2031, 0, 1, hours)).toISOString();
const entry = (content: string, more: object = {}) => ({
  integrationId: channelId,
  type: 'schedule',
  date: at(0),
  postsAndComments: [{ content }],
  ...more,
});
type Entry = { warnings: { code: string }[]; issues: { field: string }[]; errors: true | string };
const codes = (entries: Entry[]) => entries.map(({ warnings }) => warnings.map(({ code }) => code));
/** The judgement of entries, the same by the tool and by a dry run of create. */
async function judged(...socialPost: object[]): Promise<Entry[]> {
  const { output } = await called(key, 'preflight_post', { socialPost });
  const { dryRun } = await called(key, 'create_post', { socialPost, dryRun: true });
  expect(dryRun).toEqual(output);
  return output;
}

test('preflight_post and a dry run see the same text in entries of other dates and types [S116]', async () => {
  const twice = ['duplicate_content'];
  const entries = [
    entry('Same'),
    entry('Other'),
    entry('Same', { date: at(3) }),
    entry('Same', { date: at(72) }),
    entry('Same', { type: 'draft', date: at(1) }),
  ];
  expect(codes(await judged(...entries))).toEqual([twice, [], twice, [], twice]);
});

test('preflight_post and a dry run count entries of all types and dates against the limit of posts [S116]', async () => {
  await override(product.db.sql, ann.orgId, { posts_per_month: 2 });
  const [one, two, three] = [entry('1'), entry('2', { date: at(50) }), entry('3', { type: 'draft', date: undefined })];
  expect(codes(await judged(one, two))).toEqual([[], []]);
  const over = ['limit_exceeded'];
  expect(codes(await judged(one, two, three))).toEqual([over, over, over]);
  await override(product.db.sql, ann.orgId, {});
});

test('preflight_post names the field of each entry as the agent wrote it, beside entries that are too long to be read [S116]', async () => {
  const tooMuch = '<b>'.repeat(20_001);
  const entries = await judged(entry('x', { date: at(1) }), entry(tooMuch), entry('', { date: at(2) }));
  expect(entries.map(({ issues }) => issues.map(({ field }) => field))).toEqual([
    [],
    ['socialPost.1.postsAndComments.0.content'],
    ['socialPost.2.postsAndComments.0.content'],
  ]);
  expect(entries[1]!.errors).toContain('more than');
});

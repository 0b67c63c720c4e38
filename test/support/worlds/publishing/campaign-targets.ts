import type { Published, SocialAdapter } from '../../../../src/providers/registry/index.ts';
import { adapters } from '../../../../src/providers/registry/registry.gen.ts';
import { textFormOf, writerOf } from '../../../../src/providers/social/_text.ts';
import type { Credentials } from '../../../../src/publishing/channels/credentials.ts';
import type { FakeNetwork, Fixture } from '../../peers/fake-network.ts';
import type { Case, PostInput, SocialFixture } from '../../peers/suites/social.ts';
import type { Fault, Played } from '../../wire/played.ts';

/** A network with the account and the post that its fixture has. */
export interface Target {
  adapter: SocialAdapter;
  account: Omit<Credentials, 'grantedAt'>;
  /** The settings and files of the post, and its content as the editor of the product writes it. */
  input: Pick<PostInput, 'media' | 'settings'> & { content: string };
  /** Played from the exchanges of the fixture, or a server of its own. */
  network: Omit<Played, 'words'> | FakeNetwork;
  /** What the cases of the fixture answer: of the post, and of the look-up. */
  result?: Published;
  found?: Published;
}
export type FaultOf = (id: string) => Fault | undefined;
/** What goes wrong at the networks of a campaign. */
export interface Faults {
  faultOf?: FaultOf;
  /** Number of look-ups after a lost answer that do not show the post yet. */
  lateBy?: number;
}

const FIXTURES = new URL('../../../fixtures/providers/', import.meta.url);
const all = adapters.filter(
  (adapter): adapter is SocialAdapter => adapter.domain === 'social' && adapter.optional !== 'sandbox',
);
/** Every network of the registry, in a fixed order. */
export const networks: readonly string[] = [...new Set(all.map(({ id }) => id))].toSorted();

const fixtureOf = <T>(folder: string, id: string): Promise<T | undefined> =>
  import(new URL(`${folder}/${id}.ts`, FIXTURES).href).then(
    (module: { default: T }) => module.default,
    (error: unknown) => {
      if (String(error).includes('Cannot find module')) return undefined;
      throw error;
    },
  );

/** The targets of one campaign; `stack` closes the servers. */
export const openTargets = (
  { faultOf = () => undefined, lateBy = 0 }: Faults,
  stack: AsyncDisposableStack,
): Promise<Target[]> =>
  Promise.all(
    networks.map(async (id) => {
      const adapter = all.findLast((one) => one.id === id)!;
      const fixture = await fixtureOf<SocialFixture>('social', id);
      if (fixture) return ofExchanges(adapter, fixture, faultOf(id), lateBy);
      const server = await fixtureOf<Fixture>('social-servers', id);
      if (!server) throw new Error(`There is no fixture of ${id}`);
      return ofServer(adapter, server, stack.use(await server.start()), faultOf(id));
    }),
  );

/** The first post of a fixture, with the look-up and the reads that belong to it. */
function ofExchanges(adapter: SocialAdapter, fixture: SocialFixture, fault: Fault | undefined, lateBy: number): Target {
  const { values, account, tokens, app } = fixture;
  const of = (...operations: string[]) => fixture.cases.filter(({ operation }) => operations.includes(operation));
  const exchangesOf = (cases: readonly Case[]) => cases.flatMap(({ exchanges }) => exchanges);
  const publish = of('publish')[0]!;
  const find = of('find').find(({ name }) => name === publish.name);
  const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  const isNothing = ({ result: shown }: Case) => shown === undefined || isSame(shown, []);
  /** The same look-up, of a network that does not show the post. A key of ours makes a second send harmless. */
  const notYet = ['read-back', 'two-phase'].includes(adapter.once)
    ? of('find').find((one) => isNothing(one) && isSame(one.input, find?.input) && one.exchanges.length > 0)
    : undefined;
  const result = publish.result as Published;
  const shown = (find?.result ?? []) as Published | readonly Published[];
  const found = 'id' in shown ? shown : shown.find(({ id }) => id === result.id);
  const { text, media, settings } = publish.input as PostInput;
  const goesOn = ({ input, failure }: Case) =>
    failure === undefined && (input as PostInput).saved !== undefined && (input as PostInput).text === text;
  const tagged = tokens?.accessToken === 'the-token' ? { ...tokens, accessToken: `the-token~${adapter.id}~` } : tokens;
  return {
    adapter,
    account: { values, account, tokens: tagged, app },
    input: { content: contentOf(text, adapter), ...(media && { media }), ...(settings && { settings }) },
    network: {
      id: adapter.id,
      publish: publish.exchanges,
      again: exchangesOf(of('publish').filter(goesOn)),
      find: find?.exchanges ?? [],
      late: Array.from({ length: lateBy }, () => notYet?.exchanges.map((one) => ({ ...one })) ?? []).flat(),
      asides: exchangesOf(of('profile', 'channelLimits')),
      fault,
    },
    result,
    ...(found && { found }),
  };
}

function ofServer(
  adapter: SocialAdapter,
  { errors, creating }: Fixture,
  network: FakeNetwork,
  fault: Fault | undefined,
): Target {
  const { behaviour: limit } = errors.find(({ failure }) => failure === 'rate_limited')!;
  if (fault) network.on(creating, fault === 'rate-limit' ? limit : 'accept-then-hang-up', 1);
  const { values, account, tokens } = network;
  return { adapter, account: { values, account, tokens }, input: { content: '<p>Hello</p>' }, network };
}

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const HTML = {
  plain: escaped,
  html: (text: string) => text.replace(/(<\/?)b>/g, '$1strong>').replace(/(<\/?)i>/g, '$1em>'),
  markdown: (text: string) =>
    escaped(text.replace(/<(https?:\S+)>/g, '$1')).replace(/\*\*(.+?)\*\*/g, '<strong>$1</strong>'),
  mrkdwn: (text: string) => text.replace(/\*(.+?)\*/g, '<strong>$1</strong>'),
} as const;

/** The content that is written as this text in the form of the network. */
function contentOf(text: string, adapter: SocialAdapter): string {
  const content = HTML[textFormOf(adapter)](text)
    .split('\n\n')
    .map((paragraph) => `<p>${paragraph.replaceAll('\n', '<br>')}</p>`)
    .join('');
  const written = writerOf(adapter)(content).text;
  if (written !== text) throw new Error(`${adapter.id}: ${content} is written as ${written}, and not as ${text}`);
  return content;
}

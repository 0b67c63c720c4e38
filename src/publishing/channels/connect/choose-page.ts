import { AppError, invalidField, isId, newId, ProviderError } from '../../../platform/kernel/index.ts';
import type { Page, Social, SocialAdapter, Tokens } from '../../../providers/registry/index.ts';
import { type ChoiceRow, deleteChoice, findChoice, insertChoice, loginOfChoice, takeChoice } from './choice-store.ts';
import { connectLogin, pinnedAdapter } from '../connection.ts';
import { type Credentials, sealCredentials } from '../credentials.ts';
import { type ChannelsDeps, unknownChannel } from '../deps.ts';
import type { Person } from './login-channel.ts';
import {
  type AccountLogin,
  type ChannelConnector,
  openAccount,
  saveAccount,
  type SaveDeps,
  tried,
} from './save-account.ts';

// Networks whose people have several pages (S133): a login is kept until one of them is chosen, which becomes the
// channel. Who logged in chooses: the list of somebody's pages is nobody else's.

const DAY_MS = 86_400_000;
/** More are not shown; each of them can be chosen. */
const MOST_PAGES = 1_000;

type ChoiceDeps = Omit<ChannelsDeps, 'events' | 'outbound'>;
/** The page that a request names, and the field in which it does. */
export interface WantedPage {
  field: string;
  id: string;
}
type Paged = Required<Pick<Social, 'pages' | 'choose'>>;

/** The methods of a network whose people choose a page; undefined for any other. */
const pagedOf = ({ pages, choose }: Social): Paged | undefined => pages && choose && { pages, choose };

const pageGone = ({ title }: SocialAdapter) =>
  new AppError(
    'conflict',
    `This login has no access to the page of the channel any more: grant it at ${title}, or log in with another account`,
  );
const shown = (pages: readonly Page[]) => pages.slice(0, MOST_PAGES);

/** What a login leaves: a channel, or a choice with the pages that could be listed. */
export interface SavedAccount {
  id: string;
  created: boolean;
  choice?: { pages: readonly Page[] | undefined };
}

/**
 * Saves an account as a channel; where its person has pages, as a choice that is open for a day. A channel that is
 * logged in again (`refresh`) keeps its page.
 */
export async function saveOrAsk(
  deps: SaveDeps,
  person: ChannelConnector,
  login: AccountLogin,
  refresh: { internalId: string } | undefined,
): Promise<SavedAccount> {
  const { adapter, values, app, tokens } = login;
  const paged = pagedOf(openAccount(deps, login));
  if (!paged || !tokens) return saveAccount(deps, person, login, refresh);
  if (refresh) {
    const ofPage = await tokensOfPage(adapter, paged, () => tokens, refresh.internalId);
    if (!ofPage) throw pageGone(adapter);
    return saveAccount(deps, person, { ...login, tokens: ofPage }, refresh);
  }
  const pages = await tried(adapter, paged.pages()).catch((error: unknown) => {
    if (error instanceof ProviderError) return undefined; // the consent is used up: they are listed when asked for
    throw error;
  });
  const id = newId();
  const credentials: Credentials = { values, app, tokens, account: '', grantedAt: deps.clock.now() };
  const key = { id, orgId: person.orgId, userId: person.userId };
  const provider = { providerId: adapter.id, providerVersion: adapter.version };
  await insertChoice(deps.sql, { ...key, ...provider, credentials: sealCredentials(deps.vault, credentials) }, DAY_MS);
  return { id, created: true, choice: { pages: pages && shown(pages) } };
}

/** The tokens of a page; undefined where the network does not offer it. `tokens` may be renewed on the way. */
async function tokensOfPage(
  adapter: SocialAdapter,
  social: Paged,
  tokens: () => Tokens,
  page: string,
): Promise<Tokens | undefined> {
  const offered = await tried(adapter, social.pages());
  return offered.some(({ id }) => id === page) ? tried(adapter, social.choose(page, tokens())) : undefined;
}

async function getChoice({ sql }: ChoiceDeps, { orgId, userId }: Person, id: string): Promise<ChoiceRow> {
  const row = isId(id) ? await findChoice(sql, { orgId, userId, id }) : undefined;
  if (!row) throw unknownChannel();
  return row;
}

/** Opens the login of a choice that is still to be made. */
async function openChoice(deps: ChoiceDeps, choice: ChoiceRow, sealed: string) {
  const { orgId } = choice;
  const adapter = pinnedAdapter(deps, choice);
  const egressRoute = await deps.egress.egressRouteOf(orgId);
  const target = { orgId, row: loginOfChoice(deps.sql, choice), adapter, egressRoute };
  const { social, current } = await tried(adapter, connectLogin(deps, target, sealed));
  const paged = pagedOf(social);
  if (!paged) throw unknownChannel();
  return { adapter, paged, egressRoute, current: () => current().credentials };
}

/** Lists the pages that a login offers; 404 where none is to be chosen. */
export async function listPages(deps: ChoiceDeps, person: Person, id: string): Promise<readonly Page[]> {
  const choice = await getChoice(deps, person, id);
  if (choice.credentials === null) throw unknownChannel();
  const { adapter, paged } = await openChoice(deps, choice, choice.credentials);
  return shown(await tried(adapter, paged.pages()));
}

/**
 * Makes a choice: the page becomes the channel. Answers the channel and its network; undefined where this page was
 * chosen before.
 * @throws AppError 400 for a page that is not offered, 409 where another one was chosen, 402 where the plan is full
 */
export async function choosePage(
  deps: ChoiceDeps,
  person: ChannelConnector,
  id: string,
  wanted: WantedPage,
): Promise<{ id: string; created: boolean; providerId: string } | undefined> {
  const choice = await getChoice(deps, person, id);
  if (choice.credentials === null) return checkSame(choice, wanted);
  const { adapter, paged, egressRoute, current } = await openChoice(deps, choice, choice.credentials);
  const tokens = await tokensOfPage(adapter, paged, () => current().tokens!, wanted.id);
  if (!tokens) throw invalidField(wanted.field, `${adapter.title} does not offer this page`, 'unknown_id');
  const { values, app } = current();
  const login = { adapter, values, app, tokens, egressRoute };
  try {
    const saved = await saveAccount(deps, person, login, undefined, {
      id,
      async claim(sql) {
        if (!(await takeChoice(sql, choice, wanted.id))) throw chosenBefore();
      },
    });
    return { ...saved, providerId: adapter.id };
  } catch (error) {
    if (error instanceof AppError && error.code === 'conflict') checkSame(await getChoice(deps, person, id), wanted);
    else throw error;
    return undefined;
  }
}

const chosenBefore = () => new AppError('conflict', 'A page was chosen before: connect again for another one');
function checkSame(choice: ChoiceRow, { id }: WantedPage): undefined {
  if (choice.page !== id) throw chosenBefore();
}

/** Gives up a choice that was not made; false: there is none. */
export const dropChoice = async ({ sql }: Pick<ChoiceDeps, 'sql'>, { orgId, userId }: Person, id: string) =>
  isId(id) && deleteChoice(sql, { orgId, userId, id });

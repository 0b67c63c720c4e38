import { AppError, type ErrorCode } from '../../platform/kernel/index.ts';
import type { ClaimedStep, StepTools } from '../runs/index.ts';
import type { ContentPipelineDeps, PipelineInput, PipelineNote } from './deps.ts';
import { OutlineOutput, ReadOutput, type ReviewOutput, TextsOutput } from './deps.ts';
import { type DraftFault, draftFault } from './drafts.ts';
import { literalFacts } from './facts.ts';
import { type AllowedWords, allowedWords, ownLinks, keepGivenWords } from '../text/index.ts';
import { questionOf } from './questions.ts';

/** A step that is worked on. */
export interface AgentWork {
  deps: ContentPipelineDeps;
  step: ClaimedStep;
  tools: StepTools;
  input: PipelineInput;
}

/** Reads the page, and keeps the facts whose quotes it has. */
export async function readPage({ deps, tools, input }: AgentWork): Promise<ReadOutput> {
  const read = await deps.pages.read(input.url!, tools.signal);
  if ('reason' in read) throw new AppError('invalid_request', read.reason);
  const { url, title, text, links } = read.page;
  const { facts } = await tools.ask(questionOf('read', { topic: input.topic, title, page: text }));
  const kept = literalFacts(facts, text);
  if (kept.length === 0) throw new AppError('provider_failed', 'The model found nothing that the page says');
  return { url, title, links: ownLinks(url, links), facts: kept, dropped: facts.length - kept.length };
}

/** What the page said, where there is one. */
async function factsOf({ tools }: Pick<AgentWork, 'tools'>): Promise<ReadOutput | undefined> {
  const output = await tools.outputOf('read');
  return output === undefined ? undefined : ReadOutput.parse(output);
}

export async function outlinePosts(work: AgentWork): Promise<OutlineOutput> {
  const { tools, input } = work;
  const facts = (await factsOf(work))?.facts ?? [];
  const { topic, count, tone, language, brand } = input;
  const { posts } = await tools.ask(
    questionOf('outline', { topic, count, tone, language, audience: brand?.audience, facts: numbered(facts) }),
  );
  if (posts.length < count)
    throw new AppError('provider_failed', 'The model planned fewer posts than it was asked for');
  return { posts: posts.slice(0, count) };
}
type OutlineOutput = ReturnType<typeof OutlineOutput.parse>;

const numbered = (facts: ReadOutput['facts']) => facts.map(({ fact, quote }, number) => ({ number, fact, quote }));

/** Writes the posts of one channel. It sees facts, never the page. */
export async function writePosts(work: AgentWork, n: number): Promise<TextsOutput> {
  const { tools, input } = work;
  const { network, characters } = input.channels[n]!;
  const read = await factsOf(work);
  const outline = OutlineOutput.parse(await tools.outputOf('outline'));
  const posts = outline.posts.map(({ message, facts }) => ({
    message,
    facts: facts.flatMap((at) => read?.facts[at]?.fact ?? []),
  }));
  const { topic, tone, language, brand } = input;
  const { texts } = await tools.ask(
    questionOf('write', { topic, network, characters, tone, language, brand, posts, facts: read?.facts ?? [] }),
  );
  const allowed = allowedFor(input, read);
  const cleaned = texts.slice(0, posts.length).map((text) => keepGivenWords(text, allowed));
  return { texts: cleaned.filter(({ text }) => text !== ''), notes: [] };
}

/** Links and mentions of what people asked for, of the source and of the brand. */
function allowedFor({ topic, tone, brand, url }: PipelineInput, read: ReadOutput | undefined): AllowedWords {
  const brandTexts = brand ? [brand.voice, brand.tone, brand.audience, ...brand.hashtags, ...brand.doList] : [];
  const quotes = read?.facts.map(({ quote }) => quote) ?? [];
  const { mentions } = allowedWords(quotes); // links of the page are those to its own host alone
  const allowed = allowedWords(
    [topic, tone, ...brandTexts].filter((text) => typeof text === 'string'),
    [...(url === null ? [] : [url]), ...(read?.links ?? [])],
  );
  return { links: allowed.links, mentions: new Set([...allowed.mentions, ...mentions]) };
}

/** A text that is too long is shortened so often; then its draft is dropped. */
const MOST_SHORTENINGS = 2;
/** Models count badly: of the limit, what they are told each time. */
const SHARES = [0.95, 0.75];

/** What ends one draft, and not those beside it: the model does not shorten it, or nobody pays for that any more. */
const ENDS_A_DRAFT: ReadonlySet<ErrorCode> = new Set(['provider_failed', 'limit_exceeded']);

/** Holds the posts of a channel against what its network takes. Those that it takes as they are outlive the step. */
export async function fitPosts(work: AgentWork, n: number): Promise<TextsOutput> {
  const { deps, step, tools, input } = work;
  const { id: channelId } = input.channels[n]!;
  const written = TextsOutput.parse(await tools.outputOf(`write-${n + 1}`));
  const places: Place[] = [];
  for (const one of written.texts)
    places.push({ ...one, fault: await draftFault(deps, step, { channelId, text: one.text }) });
  const output = (): TextsOutput => ({
    texts: places.filter(({ fault }) => !fault).map(({ text, removed }) => ({ text, removed })),
    notes: [
      ...written.notes,
      ...places.flatMap(({ fault }): PipelineNote[] =>
        fault ? [{ channelId, kind: 'dropped', message: `A draft was dropped: ${fault.message}` }] : [],
      ),
    ],
  });
  for (const [at, place] of places.entries()) {
    if (!place.fault) continue;
    tools.keep(output());
    places[at] = await shorten(work, n, place).catch((error: unknown) => {
      if (!(error instanceof AppError && ENDS_A_DRAFT.has(error.code))) throw error;
      return { ...place, fault: { message: error.message, isOfText: false } };
    });
  }
  return output();
}

/** A text, and why its network does not take it. */
type Place = TextsOutput['texts'][number] & { fault: DraftFault | undefined };

/** Shortens a text until its network takes it, or that has been tried often enough. */
async function shorten({ deps, step, tools, input }: AgentWork, n: number, place: Place): Promise<Place> {
  const { id: channelId, characters: most } = input.channels[n]!;
  let { text, removed, fault } = place;
  for (let tries = 0; fault?.isOfText && tries < MOST_SHORTENINGS; tries += 1) {
    const characters = most === null ? null : Math.floor(most * SHARES[tries]!);
    const { topic, language, tone } = input;
    const data = { text, characters, fault: fault.message, topic, language, tone };
    const allowed = allowedFor(input, await factsOf({ tools }));
    const shorter = keepGivenWords((await tools.ask(questionOf('shorten', data))).text, allowed);
    removed = [...removed, ...shorter.removed];
    text = shorter.text;
    fault = await draftFault(deps, step, { channelId, text });
  }
  return { text, removed, fault };
}

/** Has the drafts held against source and brand. Flags count for words that stand in their draft. */
export async function reviewPosts(work: AgentWork): Promise<ReviewOutput> {
  const { tools, input } = work;
  const drafts: string[] = [];
  for (const n of input.channels.keys()) {
    const fitted = await tools.outputOf(`fit-${n + 1}`, { kept: true });
    if (fitted !== undefined) drafts.push(...TextsOutput.parse(fitted).texts.map(({ text }) => text));
  }
  if (drafts.length === 0) return { flags: [] };
  const { topic, brand } = input;
  const facts = (await factsOf(work))?.facts ?? [];
  const { flags } = await tools.ask(
    questionOf('review', { topic, brand, facts, drafts: drafts.map((text, draft) => ({ draft, text })) }),
  );
  return { flags: flags.filter(({ draft, words }) => words.trim() !== '' && drafts[draft]?.includes(words)) };
}

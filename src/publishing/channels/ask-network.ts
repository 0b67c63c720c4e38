import { z } from 'zod';
import { atMost } from '../../platform/flow/index.ts';
import { judge, notFound, ProviderError, sha256Hex, validationFailed } from '../../platform/kernel/index.ts';
import type { Mention, Social, SocialAdapter } from '../../providers/registry/index.ts';
import { connectChannel } from './connection.ts';
import { type ChannelsDeps, getChannelRow } from './deps.ts';

// Questions to the network of a channel that the form of a post asks: a person waits for the answer, and forms ask the
// same thing again and again.

/** A question may take several calls. */
const ANSWER_MS = 20_000;
const REMEMBERED_MS = 60_000;
const MOST_ITEMS = 1_000;
const MOST_BYTES = 256_000;
const MOST_MENTIONS = 50;

type Data = Readonly<Record<string, unknown>>;
const unknownTool = () => notFound('Tool not found');
const MentionQuery = z.object({ query: z.string().max(200).default('') });

/**
 * Calls a method that the network of a channel declares, by its name.
 * @throws AppError 404 for a method that is not declared, 400 with the fields of wrong data, 502 where the network fails
 */
export async function callTool(
  deps: ChannelsDeps,
  orgId: string,
  channelId: string,
  name: string,
  data: Data,
): Promise<unknown> {
  const channel = await askedChannel(deps, orgId, channelId);
  const { tools = {} } = channel.adapter;
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
  if (!tool) throw unknownTool();
  const parsed = judged(tool.data, data);
  return answerOf(deps, { ...channel, method: `tool ${name}`, data: parsed }, (social) => social.tool!(name, data));
}

/** Finds people who can be mentioned in a post of a channel. */
export async function findMentions(
  deps: ChannelsDeps,
  orgId: string,
  channelId: string,
  data: Data,
): Promise<readonly Mention[]> {
  const channel = await askedChannel(deps, orgId, channelId);
  if (!channel.adapter.mentions) throw unknownTool();
  const { query } = judged(MentionQuery, data);
  const asked = query.trim();
  if (asked === '') return [];
  const question = { ...channel, method: 'mentions', data: { query: asked } };
  const found = await answerOf(deps, question, (social) => social.mentions!(asked));
  return (found as readonly Mention[]).slice(0, MOST_MENTIONS);
}

interface Question {
  orgId: string;
  id: string;
  adapter: SocialAdapter;
  method: string;
  /** As the schema of the method has parsed it. */
  data: unknown;
}

async function askedChannel(deps: ChannelsDeps, orgId: string, channelId: string) {
  const { id, providerId, providerVersion } = await getChannelRow(deps, orgId, channelId);
  const adapter = deps.providers.resolve('social', providerId, { version: providerVersion, use: 'pinned' });
  return { orgId, id, adapter };
}

function judged<S extends z.ZodType>(schema: S, data: Data): z.output<S> {
  const { data: parsed, errors } = judge(schema, data, ['data']);
  if (errors) throw validationFailed(errors);
  return parsed;
}

/** The answer of a network, or the one that it gave within the last minute. */
async function answerOf(
  deps: ChannelsDeps,
  { orgId, id, adapter, method, data }: Question,
  ask: (social: Social) => Promise<unknown>,
): Promise<unknown> {
  const { cache, clock } = deps;
  const key = `channel:${orgId}:${id}:${sha256Hex(JSON.stringify([adapter.version, method, data]))}`;
  const known = await cache.get(key).catch(() => undefined); // a cache that is away keeps nothing
  if (known !== undefined) return JSON.parse(known) as unknown;
  const answers: string[] = [];
  const isOver = await atMost(clock, ANSWER_MS, async (over) => {
    const { social } = await connectChannel(deps, orgId, id, undefined, over);
    answers.push(bounded(adapter, await ask(social)));
  });
  if (!isOver) throw new ProviderError('unavailable', `${adapter.title} did not answer in time`);
  const [answer] = answers;
  await cache.set(key, answer!, REMEMBERED_MS).catch(() => undefined);
  return JSON.parse(answer!) as unknown;
}

/** An answer as JSON: of a list as many items as fit, anything else whole or not at all. */
function bounded({ title }: SocialAdapter, answer: unknown): string {
  if (Array.isArray(answer)) {
    let bytes = 0;
    const items = answer.slice(0, MOST_ITEMS).map((item: unknown) => JSON.stringify(item ?? null));
    const fit = items.findIndex((item) => (bytes += Buffer.byteLength(item) + 1) > MOST_BYTES);
    return `[${(fit < 0 ? items : items.slice(0, fit)).join()}]`;
  }
  const text = JSON.stringify(answer ?? null);
  if (Buffer.byteLength(text) > MOST_BYTES) throw new ProviderError('unavailable', `${title} answered too much`);
  return text;
}

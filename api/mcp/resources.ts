import type { Surface } from '../../src/oauth-server/index.ts';
import { AppError, isId } from '../../src/platform/kernel/index.ts';
import { answerOf } from './call-tool.ts';
import type { McpCaller } from './caller.ts';
import { partOf } from './pages.ts';
import { quotedAnswer } from './result.ts';
import type { AnyTool } from './tool.ts';
import { channelSchemaTool } from './tools/channel-schema.ts';
import { getMediaTool } from './tools/get-media.ts';
import { getPostTool } from './tools/get-post.ts';
import { listChannelsTool } from './tools/list-channels.ts';
import { listPostsTool } from './tools/list-posts.ts';
import { postTimelineTool } from './tools/post-timeline.ts';
import { readBrandKit, readBrandKits } from './tools/read-brand-kits.ts';
import { searchMediaTool } from './tools/search-media.ts';

const JSON_TYPE = 'application/json';

type Input = Record<string, unknown>;
/** What agents may read by address: the answer of a tool, on its surfaces and with its permission. */
interface Readable {
  tool: AnyTool;
  name: string;
  title: string;
  description: string;
  /** The input of the tool, by what stands in the place; undefined for an address that names nothing. Default: none. */
  inputOf?(value: string): Input | undefined;
  /** A list that may be longer than an answer: it goes on at the same address with `cursor`. */
  isPaged?: true;
}

const byId = (id: string): Input | undefined => (isId(id) ? { id } : undefined);
function byMonth(text: string): Input | undefined {
  const [, year, number] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text) ?? [];
  if (year === undefined || number === undefined) return undefined;
  const start = new Date(Date.UTC(Number(year), Number(number) - 1));
  const end = new Date(Date.UTC(Number(year), Number(number)) - 1);
  return { startDate: start.toISOString(), endDate: end.toISOString() };
}

/** By their addresses: URI templates (RFC 6570, level 1) with one place at most, to which lists add `{?cursor}`. */
const READABLE: Readonly<Record<string, Readable>> = {
  'rookery://channels': {
    tool: listChannelsTool,
    name: 'channels',
    title: 'Channels',
    description: 'The channels that posts can be published to.',
    isPaged: true,
  },
  'rookery://networks/{platform}/rules': {
    tool: channelSchemaTool,
    name: 'network-rules',
    title: 'Rules of a network',
    description: 'The rules, the greatest length and the settings of posts for a network.',
    inputOf: (platform) => ({ platform }),
  },
  'rookery://posts/{id}': {
    tool: getPostTool,
    name: 'post',
    title: 'Post',
    description: 'A post with its thread.',
    inputOf: byId,
  },
  'rookery://posts/{id}/timeline': {
    tool: postTimelineTool,
    name: 'post-timeline',
    title: 'Timeline of a post',
    description: 'What happened to a post, oldest first.',
    inputOf: byId,
    isPaged: true,
  },
  'rookery://calendar/{month}': {
    tool: listPostsTool,
    name: 'calendar-month',
    title: 'Month of the calendar',
    description: 'The posts of a month such as 2026-09, in UTC.',
    inputOf: byMonth,
    isPaged: true,
  },
  'rookery://brand-kits': {
    tool: readBrandKits,
    name: 'brand-kits',
    title: readBrandKits.title,
    description: readBrandKits.description,
    isPaged: true,
  },
  'rookery://brand-kits/{id}': {
    tool: readBrandKit,
    name: 'brand-kit',
    title: readBrandKit.title,
    description: readBrandKit.description,
    inputOf: byId,
  },
  'rookery://media': {
    tool: searchMediaTool,
    name: 'media',
    title: 'Media library',
    description: 'The files of the library, newest first.',
    isPaged: true,
  },
  'rookery://media/{id}': {
    tool: getMediaTool,
    name: 'file',
    title: 'File',
    description: 'A file of the library.',
    inputOf: byId,
  },
};

const PLACE = /\{\w+\}/;
const addresses = Object.entries(READABLE).map(([template, one]) => ({
  ...one,
  template,
  /** Finds what stands in the place, and the cursor of a list. */
  pattern: new RegExp(
    `^${template.replace(PLACE, '(?<value>[^/?#]{1,255})')}${one.isPaged ? '(?:\\?(?<query>cursor=[^&#]{1,600}))?' : ''}$`,
  ),
}));
const onSurface = (surface: Surface) => addresses.filter(({ tool }) => tool.surfaces.includes(surface));
const shown = ({ name, title, description }: Readable) => ({ name, title, description, mimeType: JSON_TYPE });

/** The addresses of a surface with a place to fill in. */
export const listTemplates = (surface: Surface) =>
  onSurface(surface)
    .filter(({ template, isPaged }) => isPaged || PLACE.test(template))
    .map((one) =>
      one.isPaged
        ? {
            uriTemplate: `${one.template}{?cursor}`,
            ...shown(one),
            description: `${one.description} A part at a time: \`nextCursor\` of one is \`cursor\` of the next.`,
          }
        : { uriTemplate: one.template, ...shown(one) },
    );

/** The whole addresses of a surface: those without a place to fill in, and the rules of each network in use. */
export async function listReadable({ surface, call }: McpCaller, cursor: string | undefined) {
  const { permissions, orgId } = call.principal;
  const whole = onSurface(surface)
    .filter(({ template }) => !PLACE.test(template))
    .map((one) => ({ uri: one.template, ...shown(one) }));
  const mayList = surface === 'mcp' && permissions.has('channels:read');
  const channels = mayList ? await call.rooms.channels.list(orgId) : [];
  const networks = [...new Set(channels.map(({ providerId }) => providerId))].toSorted().map((platform) => ({
    uri: `rookery://networks/${platform}/rules`,
    name: `${platform}-rules`,
    title: `Rules of ${platform}`,
    mimeType: JSON_TYPE,
  }));
  const { items, nextCursor } = partOf([...whole, ...networks], cursor);
  return { resources: items, ...(nextCursor !== null && { nextCursor }) };
}

/**
 * Reads what an address names; undefined where it names nothing.
 * @throws AppError as the tool refuses
 */
export async function readResource(caller: McpCaller, uri: string) {
  for (const { pattern, tool, inputOf } of onSurface(caller.surface)) {
    const found = pattern.exec(uri);
    const named = found && (inputOf ? inputOf(found.groups?.['value'] ?? '') : {});
    if (!named) continue;
    const cursor = new URLSearchParams(found?.groups?.['query']).get('cursor');
    const input = cursor === null ? named : { ...named, cursor };
    const answer = await answerOf(caller, tool, input).catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'not_found') return undefined;
      throw error;
    });
    if (!answer) return undefined;
    const { text, meta } = quotedAnswer(answer, tool.untrusted);
    return { contents: [{ uri, mimeType: JSON_TYPE, text, ...(meta && { _meta: meta }) }] };
  }
  return undefined;
}

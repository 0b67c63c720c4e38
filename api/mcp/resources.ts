import type { Surface } from '../../src/oauth-server/index.ts';
import { AppError, isId } from '../../src/platform/kernel/index.ts';
import { answerOf } from './call-tool.ts';
import type { McpCaller } from './caller.ts';
import { partOf } from './pages.ts';
import { readBrandKit, readBrandKits } from './read-brand-kits.ts';
import { quotedAnswer } from './result.ts';
import type { AnyTool } from './tool.ts';
import { channelSchemaTool } from './tools/channel-schema.ts';
import { getMediaTool } from './tools/get-media.ts';
import { getPostTool } from './tools/get-post.ts';
import { listChannelsTool } from './tools/list-channels.ts';
import { listPostsTool } from './tools/list-posts.ts';
import { postTimelineTool } from './tools/post-timeline.ts';
import { searchMediaTool } from './tools/search-media.ts';

/** What agents may read by address: the answer of a tool, with its permission. */
interface Readable {
  surfaces: readonly Surface[];
  /** A URI template (RFC 6570, level 1). */
  template: string;
  name: string;
  title: string;
  description: string;
  tool: AnyTool;
  /** The input of the tool; undefined for an address that names nothing. */
  inputOf(value: string): Record<string, unknown> | undefined;
}

const JSON_TYPE = 'application/json';
const month = (text: string) => {
  const [, year, number] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text) ?? [];
  if (year === undefined || number === undefined) return undefined;
  const start = new Date(Date.UTC(Number(year), Number(number) - 1));
  const end = new Date(Date.UTC(Number(year), Number(number)) - 1);
  return { startDate: start.toISOString(), endDate: end.toISOString() };
};
const byId = (id: string) => (isId(id) ? { id } : undefined);

const READABLE: readonly Readable[] = [
  {
    surfaces: ['mcp'],
    template: 'rookery://channels',
    name: 'channels',
    title: 'Channels',
    description: 'The channels that posts can be published to.',
    tool: listChannelsTool,
    inputOf: () => ({}),
  },
  {
    surfaces: ['mcp'],
    template: 'rookery://networks/{platform}/rules',
    name: 'network-rules',
    title: 'Rules of a network',
    description: 'The rules, the greatest length and the settings of posts for a network.',
    tool: channelSchemaTool,
    inputOf: (platform) => ({ platform }),
  },
  {
    surfaces: ['mcp'],
    template: 'rookery://posts/{id}',
    name: 'post',
    title: 'Post',
    description: 'A post with its thread.',
    tool: getPostTool,
    inputOf: byId,
  },
  {
    surfaces: ['mcp'],
    template: 'rookery://posts/{id}/timeline',
    name: 'post-timeline',
    title: 'Timeline of a post',
    description: 'What happened to a post, oldest first.',
    tool: postTimelineTool,
    inputOf: byId,
  },
  {
    surfaces: ['mcp'],
    template: 'rookery://calendar/{month}',
    name: 'calendar-month',
    title: 'Month of the calendar',
    description: 'The posts of a month such as 2026-09, in UTC.',
    tool: listPostsTool,
    inputOf: month,
  },
  {
    surfaces: ['mcp', 'media-mcp'],
    template: 'rookery://brand-kits',
    name: 'brand-kits',
    title: readBrandKits.title,
    description: readBrandKits.description,
    tool: readBrandKits,
    inputOf: () => ({}),
  },
  {
    surfaces: ['mcp', 'media-mcp'],
    template: 'rookery://brand-kits/{id}',
    name: 'brand-kit',
    title: readBrandKit.title,
    description: readBrandKit.description,
    tool: readBrandKit,
    inputOf: byId,
  },
  {
    surfaces: ['media-mcp'],
    template: 'rookery://media',
    name: 'media',
    title: 'Media library',
    description: 'The newest files of the library.',
    tool: searchMediaTool,
    inputOf: () => ({}),
  },
  {
    surfaces: ['media-mcp'],
    template: 'rookery://media/{id}',
    name: 'file',
    title: 'File',
    description: 'A file of the library.',
    tool: getMediaTool,
    inputOf: byId,
  },
];

/** What stands at the place of a template in an address; an empty text where a whole address is meant. */
function valueIn({ template }: Readable, uri: string): string | undefined {
  const [before = '', after] = template.split(/\{\w+\}/);
  if (after === undefined) return uri === template ? '' : undefined;
  if (!uri.startsWith(before) || !uri.endsWith(after) || uri.length <= before.length + after.length) return undefined;
  const value = uri.slice(before.length, uri.length - after.length);
  return value.length <= 255 && !/[/?#]/.test(value) ? value : undefined;
}
const isTemplate = ({ template }: Readable): boolean => template.includes('{');
const shown = ({ name, title, description }: Readable) => ({ name, title, description, mimeType: JSON_TYPE });

/** The addresses of a surface with a place to fill in. */
export const listTemplates = (surface: Surface) =>
  READABLE.filter((one) => one.surfaces.includes(surface) && isTemplate(one)).map((one) => ({
    uriTemplate: one.template,
    ...shown(one),
  }));

/** The whole addresses of a surface: those without a place to fill in, and the rules of each network in use. */
export async function listReadable(caller: McpCaller, cursor: string | undefined) {
  const { surface, call } = caller;
  const whole = READABLE.filter((one) => one.surfaces.includes(surface) && !isTemplate(one)).map((one) => ({
    uri: one.template,
    ...shown(one),
  }));
  const mayList = surface === 'mcp' && call.principal.permissions.has('channels:read');
  const channels = mayList ? await call.rooms.channels.list(call.principal.orgId) : [];
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
  for (const one of READABLE) {
    const value = one.surfaces.includes(caller.surface) ? valueIn(one, uri) : undefined;
    const input = value === undefined ? undefined : one.inputOf(value);
    if (!input) continue;
    const answer = await answerOf(caller, one.tool, input).catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'not_found') return undefined;
      throw error;
    });
    if (!answer) return undefined;
    const { text, meta } = quotedAnswer(answer, one.tool.untrusted);
    return { contents: [{ uri, mimeType: JSON_TYPE, text, ...(meta && { _meta: meta }) }] };
  }
  return undefined;
}

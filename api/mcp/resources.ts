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

/** What agents may read by address: the answer of a tool, on its surfaces and with its permission. */
const READABLE: readonly AnyTool[] = [
  listChannelsTool,
  channelSchemaTool,
  getPostTool,
  postTimelineTool,
  listPostsTool,
  readBrandKits,
  readBrandKit,
  searchMediaTool,
  getMediaTool,
];

type Input = Record<string, unknown>;
/** The input of a tool by what stands in the place of its address; undefined for an address that names nothing. */
const INPUTS: Readonly<Record<string, (value: string) => Input | undefined>> = {
  id: (id) => (isId(id) ? { id } : undefined),
  platform: (platform) => ({ platform }),
  month(text) {
    const [, year, number] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text) ?? [];
    if (year === undefined || number === undefined) return undefined;
    const start = new Date(Date.UTC(Number(year), Number(number) - 1));
    const end = new Date(Date.UTC(Number(year), Number(number)) - 1);
    return { startDate: start.toISOString(), endDate: end.toISOString() };
  },
};

const PLACE = /\{(\w+)\}/;
const addresses = READABLE.map((tool) => {
  const { template, name, title = tool.title, description = tool.description } = tool.readAt!; // each that is listed
  const isPaged = 'cursor' in tool.input.shape;
  const place = PLACE.exec(template)?.[1];
  const cursor = isPaged ? '(?:\\?(?<query>cursor=[^&#]{1,600}))?' : '';
  return {
    tool,
    template,
    isPaged,
    hasPlace: place !== undefined,
    shown: { name, title, description, mimeType: JSON_TYPE },
    /** Finds what stands in the place, and the cursor of a list. */
    pattern: new RegExp(`^${template.replace(PLACE, '(?<value>[^/?#]{1,255})')}${cursor}$`),
    inputOf: (value: string) => (place === undefined ? {} : INPUTS[place]!(value)), // each place is known
  };
});
const onSurface = (surface: Surface) => addresses.filter(({ tool }) => tool.surfaces.includes(surface));

/** The addresses of a surface with a place to fill in, or with parts. */
export const listTemplates = (surface: Surface) =>
  onSurface(surface)
    .filter(({ isPaged, hasPlace }) => isPaged || hasPlace)
    .map(({ template, isPaged, shown }) => ({
      uriTemplate: isPaged ? `${template}{?cursor}` : template,
      ...shown,
      ...(isPaged && {
        description: `${shown.description} A part at a time: \`nextCursor\` of one is \`cursor\` of the next.`,
      }),
    }));

/** The whole addresses of a surface: those without a place to fill in, and the rules of each network in use. */
export async function listReadable({ surface, call }: McpCaller, cursor: string | undefined) {
  const { permissions, orgId } = call.principal;
  const whole = onSurface(surface)
    .filter(({ hasPlace }) => !hasPlace)
    .map(({ template, shown }) => ({ uri: template, ...shown }));
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
    const named = found && inputOf(found.groups?.['value'] ?? '');
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

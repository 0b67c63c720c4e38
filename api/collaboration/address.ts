import { routePath } from '../http/exchange.ts';

const PATH = '/collaboration';

/** The kinds of rooms that can be opened. */
export type RoomKind = 'post' | 'group' | 'campaign' | 'brand-kit' | 'designer';
export interface RoomName {
  kind: RoomKind;
  id: string;
  /** `<kind>:<id>`. */
  name: string;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const FORMS: Readonly<Record<RoomKind, RegExp>> = {
  post: UUID,
  group: /^[A-Za-z0-9_-]{1,255}$/,
  campaign: UUID,
  'brand-kit': UUID,
  designer: UUID,
};
const isKind = (text: string): text is RoomKind => Object.hasOwn(FORMS, text);

/** The room that a text names; undefined for anything else. */
export function readRoom(text: string | undefined): RoomName | undefined {
  const at = text?.indexOf(':') ?? -1;
  if (text === undefined || at < 0) return undefined;
  const [kind, id] = [text.slice(0, at), text.slice(at + 1)];
  return isKind(kind) && FORMS[kind].test(id) ? { kind, id, name: text } : undefined;
}

const split = (url: string): { path: string; query: URLSearchParams } => {
  const at = url.indexOf('?');
  return {
    path: routePath(at < 0 ? url : url.slice(0, at)),
    query: new URLSearchParams(at < 0 ? '' : url.slice(at + 1)),
  };
};

/** Says whether an address is one of the websocket: `/collaboration` or one segment below it, with and without `/api`. */
export const isCollaboration = (url: string): boolean => /^\/collaboration(\/[^/]+)?$/.test(split(url).path);

/** The text in the place of the room, decoded once, and the ticket; a path wins over a query. */
export function readAddress(url: string): { room: string | undefined; ticket: string | undefined } {
  const { path, query } = split(url);
  const ticket = query.get('token') ?? undefined;
  if (path === PATH) return { room: query.get('room') ?? undefined, ticket };
  try {
    return { room: decodeURIComponent(path.slice(PATH.length + 1)), ticket };
  } catch {
    return { room: undefined, ticket };
  }
}

import type { Context } from '../../src/context.ts';
import { AppError } from '../../src/platform/kernel/index.ts';
import { authenticate } from '../http/authenticate.ts';
import { cookieWriter } from '../http/cookies.ts';
import { consoleOrigins } from '../http/cors.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Principal } from '../http/route.ts';
import { failedAuthentication, throttleBy } from '../http/throttle.ts';
import { readAddress, readRoom, type RoomName } from './address.ts';
import { CLOSE } from './connection.ts';
import { authorOfRoom } from './kinds.ts';
import { OPENING, principalsOf, type Rights, rightsOf } from './rights.ts';

/** Upgrades of one person in a minute: a client that is closed comes back every few seconds. */
const UPGRADES_A_MINUTE = 600;

/** Why a connection is closed as soon as it is open. */
export class Closed extends Error {
  override readonly name = 'Closed';
  readonly code: number;

  constructor(code: number, reason: string) {
    super(reason);
    this.code = code;
  }
}
export interface Admitted {
  room: RoomName;
  principal: Principal;
  rights: Exclude<Rights, 'none'>;
  author: string | null;
}

const notAuthenticated = (reason: string) => new Closed(CLOSE.notAuthenticated, reason);

/** The caller of a ticket for this room; undefined for one that does not hold. */
async function holderOfTicket(
  context: Context,
  ticket: string,
  room: string | undefined,
): Promise<Principal | undefined> {
  const claims = await context.auth.tokens.verifyCollaboration(ticket);
  if (!claims || claims.room !== room) return undefined;
  const { kind, cid, sub, org } = claims;
  const [principal] = await principalsOf(context, [{ kind, id: cid, userId: sub, orgId: org }]);
  return principal;
}

/**
 * Finds who opens a room: by a header, else by a ticket, else by the cookie of a page of the console (S204); none of
 * them is made good by the next.
 */
async function identify(exchange: Exchange, context: Context): Promise<Principal> {
  const { headers, url } = exchange.request;
  const { room, ticket } = readAddress(url);
  const fail = async (reason: string): Promise<never> => {
    await failedAuthentication(exchange, context);
    throw notAuthenticated(reason);
  };
  if (ticket !== undefined && headers['authorization'] === undefined && headers['auth'] === undefined)
    return (await holderOfTicket(context, ticket, room)) ?? fail('The ticket is not valid for this room');
  try {
    await authenticate(exchange, OPENING, context, cookieWriter(context.config));
  } catch (error) {
    if (error instanceof AppError && (error.status === 401 || error.status === 402))
      throw notAuthenticated(error.message);
    throw error;
  }
  const { http } = context.config;
  const origins = new Set([...consoleOrigins(http), new URL(http.backendUrl).origin]);
  if (exchange.byCookie && !origins.has(headers['origin'] ?? '')) return fail('This origin may not use the cookie');
  return exchange.principal!;
}

/**
 * Judges a wish to open a room.
 * @throws Closed with the code of S206
 * @throws AppError for what is answered in place of the upgrade
 */
export async function admit(exchange: Exchange, context: Context): Promise<Admitted> {
  const principal = await identify(exchange, context);
  await throttleBy(context, `collaboration|user:${principal.userId}`, UPGRADES_A_MINUTE, 60_000);
  const room = readRoom(readAddress(exchange.request.url).room);
  if (!room) throw new Closed(CLOSE.notFound, 'There is no such document');
  // whoever may read nothing is not told what there is
  if (rightsOf(principal, room, undefined) === 'none') throw new Closed(CLOSE.noRight, 'No right to read this');
  const author = await authorOfRoom(context, principal.orgId, room);
  if (author === undefined) throw new Closed(CLOSE.notFound, 'There is no such document');
  const rights = rightsOf(principal, room, author);
  if (rights === 'none') throw new Closed(CLOSE.noRight, 'No right to read this');
  return { room, principal, rights, author };
}

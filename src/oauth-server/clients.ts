import type { Sql } from '../platform/db/index.ts';
import { equalSecrets, sha256Hex } from '../platform/kernel/index.ts';
import { invalidRequest, unknownClient } from './errors.ts';
import { type ClientRow, clientByClientId } from './store.ts';

/** The credentials of a client: in the body, or in `Authorization: Basic`. */
export interface ClientClaim {
  clientId: string | undefined;
  clientSecret: string | undefined;
  /** The value of the header `Authorization`. */
  authorization: string | undefined;
}

interface Presented {
  clientId: string;
  clientSecret: string | undefined;
}
const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
};

/** Name and secret of `Basic`, each form-encoded (RFC 6749 2.3.1). */
function basic(header: string): Presented | undefined {
  const text = Buffer.from(/^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header)?.[1] ?? '', 'base64').toString('utf8');
  const at = text.indexOf(':');
  const [clientId, clientSecret] = [decoded(text.slice(0, Math.max(at, 0))), decoded(text.slice(at + 1))];
  return clientId && clientSecret ? { clientId, clientSecret } : undefined;
}

/** Reads the client credentials of a request, given in one way; undefined when there are none (S90). */
export function presented({ clientId, clientSecret, authorization }: ClientClaim): Presented | undefined {
  if (authorization === undefined) return clientId ? { clientId, clientSecret: clientSecret || undefined } : undefined;
  const named = basic(authorization);
  if (!named) throw unknownClient();
  if (clientSecret || (clientId && clientId !== named.clientId))
    throw invalidRequest('The client authenticates by the header or by the body, not by both');
  return named;
}

const NOBODY = '0'.repeat(64);

/** The client that a request comes from. One with a secret must show it, one without must not (S90, S253). */
export async function authenticateClient(sql: Sql, claim: ClientClaim): Promise<ClientRow> {
  const shown = presented(claim);
  const client = shown ? await clientByClientId(sql, shown.clientId) : undefined;
  const kept = client?.secretHash?.toString('hex');
  // compared always: time says nothing about which clients there are
  const right = equalSecrets(sha256Hex(shown?.clientSecret ?? ''), kept ?? NOBODY);
  if (!client || (kept === undefined ? shown?.clientSecret !== undefined : !right)) throw unknownClient();
  return client;
}

import { z } from 'zod';
import { SCOPES } from '../people/access/index.ts';
import type { Database } from '../platform/db/index.ts';
import { judge, newId } from '../platform/kernel/index.ts';
import { type Outbound, OutboundError } from '../platform/outbound/index.ts';
import { OAuthError } from './errors.ts';
import { mayRegister } from './redirects.ts';
import { type ClientRow, clientByClientId, dropUnusedBeyond, hasFreshDocument, saveDocument } from './store.ts';
import { ClientMetadata, MOST_UNUSED } from './registration.ts';

// Clients that say who they are by an https address in the place of a registration (OAuth Client ID Metadata Document):
// the address is the client_id, and the document there names the redirect addresses.

const DOCUMENT_BYTES = 5_000;
const READ_MS = 5_000;
const LENGTH = 2_048;
/** Seconds for which a document is good, whatever its server says. */
const LEAST_KEPT = 5 * 60;
const LONGEST_KEPT = 24 * 60 * 60;

/** What a document has to say beside what a registration does. */
const Document = ClientMetadata.extend({ client_id: z.string() });

/**
 * Tells whether a client id is the address of a document: https, with a path, without a fragment, a user or segments that
 * parsers read differently.
 */
export function isDocumentAddress(clientId: string): boolean {
  if (!clientId.startsWith('https://') || clientId.length > LENGTH || !/^[\x21-\x7e]+$/.test(clientId)) return false;
  const url = URL.parse(clientId);
  return (
    url !== null &&
    url.href === clientId &&
    url.pathname !== '/' &&
    url.hash === '' &&
    url.username === '' &&
    url.password === ''
  );
}

/** Seconds for which an answer may be kept by its `Cache-Control`. */
export function keptSeconds(cacheControl: string | null): number {
  if (/\bno-(store|cache)\b/i.test(cacheControl ?? '')) return LEAST_KEPT;
  const [, age] = /\bmax-age=(\d{1,10})\b/i.exec(cacheControl ?? '') ?? [];
  return Math.min(Math.max(Number(age ?? LEAST_KEPT), LEAST_KEPT), LONGEST_KEPT);
}

const unusable = (why: string) => new OAuthError('invalid_client', `client_id: its document ${why}`);

/** Reads the document of a client through the guard, and judges it as a registration. */
async function readDocument({ outbound }: { outbound: Outbound }, clientId: string) {
  const answer = await outbound
    .fetch(clientId, {
      headers: { accept: 'application/json' },
      timeoutMs: READ_MS,
      maxBytes: DOCUMENT_BYTES,
      redirects: 'none',
    })
    .catch((error: unknown) => {
      if (error instanceof OutboundError) throw unusable('cannot be read');
      throw error;
    });
  if (answer.status !== 200) throw unusable(`is answered with ${answer.status}`);
  const { data, errors } = judge(Document, parsed(answer.text()));
  if (errors) throw unusable(`is not valid: ${errors[0]!.message}`);
  if (data.client_id !== clientId) throw unusable('names another client_id');
  if ((data.token_endpoint_auth_method ?? 'none') !== 'none')
    throw unusable('asks for a client secret, which it cannot have');
  if (!data.redirect_uris.every(mayRegister)) throw unusable('names a redirect address that is not possible');
  return { ...data, seconds: keptSeconds(answer.headers.get('cache-control')) };
}
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The client of an id: a registered one, or one whose document was read lately or is read now.
 * @throws OAuthError `invalid_client` for a document that cannot be read or does not name itself
 */
export async function findClient(
  deps: { sql: Database; outbound: Outbound },
  clientId: string,
): Promise<ClientRow | undefined> {
  const { sql } = deps;
  if (!clientId.startsWith('https://')) return clientByClientId(sql, clientId);
  if (!isDocumentAddress(clientId)) return undefined;
  if (!(await hasFreshDocument(sql, clientId))) {
    const document = await readDocument(deps, clientId);
    await saveDocument(sql, {
      id: newId(),
      clientId,
      name: document.client_name || new URL(clientId).host,
      description: document.client_uri ? `Website: ${document.client_uri}` : '',
      redirectUris: document.redirect_uris,
      scope: SCOPES,
      seconds: document.seconds,
    });
    // anybody has as many addresses as they like; counted apart, so that they drive out no client that registered
    await dropUnusedBeyond(sql, MOST_UNUSED, 'document');
  }
  return clientByClientId(sql, clientId);
}

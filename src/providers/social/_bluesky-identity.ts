import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';

const PLC = /^did:plc:[a-z2-7]{24}$/;
const WEB = /^did:web:([a-z0-9.-]{1,253}|localhost%3A\d{1,5})$/i;
const ENDPOINT = 'AtprotoPersonalDataServer';

const Document = z.object({
  id: z.string(),
  service: z.array(z.object({ id: z.string(), type: z.unknown(), serviceEndpoint: z.unknown() })).nullish(),
});

/**
 * Answers the address of the identity document of an account (atproto.com/specs/did). Only `localhost`, which has no
 * certificate, may have a port.
 */
function addressOf(plc: string, did: string): string {
  if (PLC.test(did)) return `${plc.endsWith('/') ? plc.slice(0, -1) : plc}/${did}`;
  const host = WEB.exec(did)?.[1];
  if (host === undefined) throw refused('rejected', 'service: names the account in a way that is not known');
  const place = decodeURIComponent(host);
  return `${/^localhost(:|$)/i.test(place) ? 'http' : 'https'}://${place}/.well-known/did.json`;
}

/**
 * Finds the origin of the server that holds an account, by the account's identity document and not by the word of a
 * server.
 */
export async function homeOf(http: Http, plc: string, did: string): Promise<string> {
  const document = await http.find(addressOf(plc, did), Document);
  if (document?.id !== did) throw refused('rejected', `service: names the account ${did}, which is not known`);
  const server = document.service?.find(
    ({ id, type }) => type === ENDPOINT && (id === '#atproto_pds' || id === `${did}#atproto_pds`),
  )?.serviceEndpoint;
  if (typeof server !== 'string' || !URL.canParse(server))
    throw refused('rejected', `service: the account ${did} lives at no server`);
  return new URL(server).origin;
}

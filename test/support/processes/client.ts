import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { type CallAnswer, call } from '../../../src/operations/cli/call.ts';

type Sent = { method?: string; body?: unknown };

/** A person with an org and an API key of their own, who reaches the product over HTTP only. */
export interface ServiceClient {
  readonly url: string;
  readonly email: string;
  /** With the session. Answers the body of a 2xx that fits, rejects anything else. */
  own<S extends z.ZodType>(path: string, answer: S, sent?: Sent): Promise<z.output<S>>;
  /** With the API key, as `own`. */
  api<S extends z.ZodType>(path: string, answer: S, sent?: Sent): Promise<z.output<S>>;
  /** With the API key: whatever is answered. Rejects when nothing answers. */
  ask(path: string, sent?: Sent): Promise<CallAnswer>;
  /** With the API key: whatever is answered to the upload of a file, whose size is not told before. */
  upload(pieces: Iterable<Uint8Array>): Promise<{ status: number; body: unknown }>;
  /** The header with the API key. */
  readonly key: string;
}

async function asked<S extends z.ZodType>(
  url: string,
  answer: S,
  headers: Record<string, string>,
  { method, body }: Sent,
): Promise<z.output<S>> {
  const verb = method ?? (body === undefined ? 'GET' : 'POST');
  const given = await call(verb, url, { headers, body, timeoutMs: 60_000 });
  const parsed = given.status < 300 ? answer.safeParse(given.body) : undefined;
  if (parsed?.success) return parsed.data;
  throw new Error(
    `${verb} ${url} answered ${given.status}: ${given.text.slice(0, 500)} ${parsed?.error?.message ?? ''}`,
  );
}

async function sendFile(url: string, headers: Record<string, string>, pieces: Iterable<Uint8Array>) {
  function* form() {
    yield Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="file"\r\n\r\n');
    yield* pieces;
    yield Buffer.from('\r\n--b--\r\n');
  }
  const sent = request(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'multipart/form-data; boundary=b' },
  });
  sent.on('error', () => undefined); // told by the two below
  const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
  // one who refuses it need not read the rest
  const [[response]] = await Promise.all([answered, pipeline(Readable.from(form()), sent).catch(() => undefined)]);
  return { status: response.statusCode ?? 0, body: JSON.parse(await readText(response)) as unknown };
}

/** A person with an org, and a session. */
type Person = Pick<ServiceClient, 'email' | 'own'>;
/** Where mail is on: answers the code of the activation mail to an address. */
export type ActivationCodes = (email: string) => Promise<string>;

/** Registers a person and an org at a running product. */
export async function registerAt(url: string, name: string, codeTo?: ActivationCodes): Promise<Person> {
  const email = `person-${randomBytes(6).toString('hex')}@example.com`;
  const Tokens = z.object({ accessToken: z.string() });
  const password = randomBytes(12).toString('hex');
  const register = { provider: 'LOCAL', email, password, company: name, returnToken: true };
  const toActivate = z.object({ activate: z.literal(true) });
  const registered = await asked(`${url}/auth/register`, codeTo ? toActivate : Tokens, {}, { body: register });
  const activated = async () =>
    asked(`${url}/auth/activate`, Tokens, {}, { body: { code: await codeTo!(email), returnToken: true } });
  const { accessToken: auth } = 'activate' in registered ? await activated() : registered;
  const session = { auth };
  return { email, own: (path, answer, sent = {}) => asked(url + path, answer, session, sent) };
}

/**
 * Registers a person and an org at a running product, and makes an API key. `registered`: where billing is on it gives
 * the org a plan with an API.
 */
export async function signUpAt(
  url: string,
  name = 'Acme',
  registered: (email: string) => Promise<void> = async () => {},
  codeTo?: ActivationCodes,
): Promise<ServiceClient> {
  const { email, own } = await registerAt(url, name, codeTo);
  await registered(email);
  const { plaintext } = await own('/user/api-keys', z.object({ plaintext: z.string() }), { body: { name: 'test' } });
  const api = { authorization: plaintext };
  return {
    url,
    email,
    key: plaintext,
    own,
    api: (path, answer, sent = {}) => asked(url + path, answer, api, sent),
    ask: (path, { method, body } = {}) =>
      call(method ?? (body === undefined ? 'GET' : 'POST'), url + path, { headers: api, body, timeoutMs: 60_000 }),
    upload: (pieces) => sendFile(`${url}/public/v1/upload`, api, pieces),
  };
}

const Created = z.array(z.object({ postId: z.string(), integration: z.string() })).length(1);
/** The body of a create of one post for one channel. */
export const postBody = ({
  channelId,
  date,
  content,
  settings = {},
  image = [],
  items = [],
  inter,
}: {
  channelId: string;
  date: Date;
  content: string;
  settings?: object;
  image?: readonly object[];
  /** What follows in its thread. */
  items?: readonly string[];
  /** It recurs every so many days. */
  inter?: number | undefined;
}) => ({
  type: 'schedule',
  date: date.toISOString(),
  shortLink: false,
  tags: [],
  ...(inter && { inter }),
  posts: [
    {
      integration: { id: channelId },
      value: [{ content, image }, ...items.map((item) => ({ content: item }))],
      settings,
    },
  ],
});
/** The id that a create was answered; undefined when it was not acknowledged. */
export const createdId = ({ status, body }: CallAnswer): string | undefined =>
  status === 201 ? Created.parse(body)[0]!.postId : undefined;

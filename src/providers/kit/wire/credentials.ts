import type { OutboundRequest } from '../../../platform/outbound/index.ts';
import { multipartOf } from '../protocols/multipart.ts';
import type { Body } from '../declare/media.ts';
import type { AppValues, Auth, Call, Named } from './http.ts';

/** The values that credentials are made of. */
export interface Held {
  values: Readonly<Record<string, string>>;
  token: string | undefined;
  app: AppValues | undefined;
}
type Single = Exclude<Auth, { in: 'basic' | 'token' }>;
type Source = Extract<Auth, { in: 'basic' }>['user'];

function valueOf(source: Source, { values, token, app }: Held): string | undefined {
  if ('field' in source) return values[source.field];
  if ('fields' in source) return source.fields.map((name) => values[name] ?? '').join(':');
  if ('app' in source) return app?.[source.app];
  return 'text' in source ? source.text : token;
}

/** Answers the declared credentials, one or several, as a list. */
export const credentialsOf = (auth: Auth | readonly Auth[] | undefined): readonly Auth[] =>
  auth === undefined ? [] : 'in' in auth ? [auth] : auth;

/** Answers whether the access token of a channel is among the credentials. */
export const sendsToken = (auth: Auth | readonly Auth[] | undefined): boolean =>
  credentialsOf(auth).some((one) => one.in === 'token' || 'token' in one);

/** Answers the text of a credential as it is sent; undefined where a part of it is not there. */
export function credentialText(auth: Auth, held: Held): string | undefined {
  if (auth.in === 'token') return held.token === undefined ? undefined : `Bearer ${held.token}`;
  if (auth.in === 'basic') {
    const [user, password] = [valueOf(auth.user, held), valueOf(auth.password, held)];
    if (user === undefined || password === undefined) return undefined;
    return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  }
  const value = valueOf(auth, held);
  return value === undefined ? undefined : (auth.prefix ?? '') + value;
}

/** A request before its body is written. */
export interface CallDraft {
  url: URL;
  headers: Record<string, string>;
  call: Call;
}

/** Puts a credential in its place; a header that the call itself sets stays. */
export function addCredential({ url, headers, call }: CallDraft, auth: Auth, text: string): Call {
  if (auth.in === 'query' || (auth.in === 'form' && !call.form && !call.multipart))
    url.searchParams.set((auth as Single).name, text);
  else if (auth.in === 'form')
    return call.form
      ? { ...call, form: { [auth.name]: text, ...call.form } }
      : { ...call, multipart: { [auth.name]: text, ...call.multipart } };
  else headers[auth.in === 'header' ? auth.name : 'authorization'] ??= text;
  return call;
}

/** Writes values in their order, those of one name under that name each. */
export function addNamed(into: URLSearchParams, named: Named): void {
  for (const [name, value] of Object.entries(named)) {
    if (value === undefined) continue;
    into.delete(name);
    for (const one of typeof value === 'string' ? [value] : value) into.append(name, one);
  }
}

/** The connection has written a piece, or keeps it whole, before it takes the second one after it. */
const streamOf = (file: Body) => ({
  from: { [Symbol.asyncIterator]: () => file.open({ lent: [] })[Symbol.asyncIterator]() },
  bytes: file.size,
});

/** Writes the body of a call with its content type. */
export function writtenBody(call: Call): { body?: NonNullable<OutboundRequest['body']>; contentType?: string } {
  if (call.json !== undefined) return { body: JSON.stringify(call.json), contentType: 'application/json' };
  if (call.form) {
    const form = new URLSearchParams();
    addNamed(form, call.form);
    return { body: form.toString(), contentType: 'application/x-www-form-urlencoded' };
  }
  const file = call.bytes ?? (call.multipart && multipartOf(call.multipart));
  return file ? { body: streamOf(file), contentType: file.contentType } : {};
}

import { outsideLine } from '../../../platform/content/index.ts';
import type { OutboundAnswer } from '../../../platform/outbound/index.ts';

/** An answer, or one whose body has been parsed while it was read. */
type Answer = Pick<OutboundAnswer, 'text'> & { value?: unknown };

/** Parses the body as JSON, else answers its text. */
export function bodyOf(answer: Answer): unknown {
  if ('value' in answer) return answer.value;
  const text = answer.text();
  try {
    return text === '' ? {} : JSON.parse(text);
  } catch {
    return text;
  }
}

interface Beside {
  headers?: readonly string[] | undefined;
  status?: boolean | undefined;
}
/**
 * Answers the body with `headers` and `status` beside its fields, where they are asked for. A body that has no fields,
 * a text or a list, is then the field `body`.
 */
export function bodyBeside(
  answer: Pick<OutboundAnswer, 'text' | 'headers' | 'status'>,
  { headers, status }: Beside,
): unknown {
  const body = bodyOf(answer);
  if (!headers && !status) return body;
  const hasFields = typeof body === 'object' && body !== null && !Array.isArray(body);
  return {
    ...(hasFields ? body : { body }),
    ...(headers && {
      headers: Object.fromEntries(headers.map((name) => [name, answer.headers.get(name) ?? undefined])),
    }),
    ...(status && { status: answer.status }),
  };
}

/** Places of the reason of a refusal below the top of a body; `*` stands for each entry of a list. */
const PLACES: readonly (readonly string[])[] = [
  ['error', 'error_user_title'],
  ['error', 'error_user_msg'],
  ['error', 'message'],
  ['error', 'error_msg'],
  ['base_resp', 'status_msg'],
  ['meta', 'msg'],
  ['detail', 'error'],
  ['detail', 'message'],
  ['detail', '*', 'msg'],
  ['errors', '*', 'message'],
  ['errors', '*', 'detail'],
  ['response_metadata', 'messages', '*'],
];
const MOST_ENTRIES = 5;
const MOST_WORDS = 200;
/** Such as the `type` of a problem (RFC 9457 3.1.1): it names a page about the reason, which the other fields tell. */
const ADDRESS = /^(?:about:blank|https?:\/\/\S+)$/;

const at = (values: readonly unknown[], name: string): unknown[] =>
  name === '*'
    ? values.flatMap((value) => (Array.isArray(value) ? (value as unknown[]).slice(0, MOST_ENTRIES) : []))
    : values.map((value) => (Array.isArray(value) ? undefined : Object(value)[name]));

function reasonsIn(body: object): string[] {
  const nested = PLACES.flatMap((place) => place.reduce(at, [body]));
  const said = [...nested, ...Object.values(body)].filter((value): value is string => typeof value === 'string');
  return [...new Set(said)].filter((text) => !ADDRESS.test(text));
}

/**
 * Answers the provider's reason of a refusal in one short line, without secrets; pages of HTML are left out. Secrets
 * are removed before the line is cut, which could leave half of one.
 */
export function sentenceOf(answer: Pick<OutboundAnswer, 'text'>, clean: (text: string) => string): string {
  const body = bodyOf(answer);
  const said = typeof body === 'object' && body !== null ? reasonsIn(body).join(': ') : String(body);
  if (said === '' || said.trimStart().startsWith('<')) return '';
  return `: ${outsideLine(clean(said), MOST_WORDS)}`;
}

/** Answers only the `error` code of a refusal (RFC 6749 5.2). */
export function codeWordOf(answer: Pick<OutboundAnswer, 'text'>): string {
  const { error } = Object(bodyOf(answer)) as { error?: unknown };
  return typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? `: ${error}` : '';
}

import { describe, expect, test } from '@jest/globals';
import { bodyBeside, codeWordOf, sentenceOf } from './answer.ts';

const saying = (body: unknown) => ({ text: () => (typeof body === 'string' ? body : JSON.stringify(body)) });
const same = (text: string) => text;

describe('sentenceOf', () => {
  test.each<[string, unknown, string]>([
    ['a Graph error', { error: { message: 'Invalid parameter', type: 'X', code: 100 } }, ': Invalid parameter'],
    [
      'its words for people first',
      { error: { message: 'Invalid parameter', error_user_title: 'Too long', error_user_msg: 'At most 10' } },
      ': Too long: At most 10: Invalid parameter',
    ],
    ['the words of a numbered error', { error: { error_code: 214, error_msg: 'Access denied' } }, ': Access denied'],
    ['each of a list of errors', { errors: [{ message: 'One' }, { detail: 'Two' }] }, ': One: Two'],
    [
      'the notes beside a code',
      { ok: false, error: 'invalid_arguments', response_metadata: { messages: ['[ERROR] no text'] } },
      ': [ERROR] no text: invalid_arguments',
    ],
    ['a code and its description', { error: 'invalid_grant', error_description: 'Gone' }, ': invalid_grant: Gone'],
    ['a problem document', { title: 'Forbidden', detail: 'No', status: 403 }, ': Forbidden: No'],
    [
      'a problem document without the address of its type',
      { type: 'https://api.example/problems/no', title: 'Forbidden', detail: 'No', instance: 'about:blank' },
      ': Forbidden: No',
    ],
    ['the words beside a status', { meta: { status: 401, msg: 'Unauthorized' }, response: [] }, ': Unauthorized'],
    ['a text said twice once', { error: { message: 'No' }, message: 'No' }, ': No'],
    ['a plain text', ' not\n\n found ', ': not found'],
    ['no mark that turns what stands around it', { message: 'No \u202Eti\u0000' }, ': No ti'],
    ['nothing of a page', '<html>500</html>', ''],
    ['nothing of an empty body', '', ''],
    ['nothing where the places hold something else', { error: null, errors: 7, messages: [1] }, ''],
    ['nothing of a list', [{ message: 'x' }], ''],
  ])('answers %s', (_, body, sentence) => {
    expect(sentenceOf(saying(body), same)).toBe(sentence);
  });

  test('is short, and removes a secret before it is cut', () => {
    const clean = (text: string) => text.replaceAll('long-secret', '***');
    const words = `${'x'.repeat(195)} long-secret ${'y'.repeat(5_000)}`;
    const sentence = sentenceOf(saying({ error: { message: words } }), clean);
    expect(sentence).toBe(`: ${'x'.repeat(195)} ***`);
    expect(sentenceOf(saying({ errors: Array.from({ length: 50 }, () => ({ message: 'z' })) }), same)).toBe(': z');
  });
});

describe('codeWordOf', () => {
  test('answers the code of a refusal, and nothing that could be more than a code', () => {
    expect(codeWordOf(saying({ error: 'invalid_grant', error_description: 'of ann' }))).toBe(': invalid_grant');
    for (const body of [{ error: 'Not a code' }, { error: { message: 'x' } }, 'text', {}])
      expect(codeWordOf(saying(body))).toBe('');
  });
});

describe('bodyBeside', () => {
  const answer = (body: unknown) => ({
    ...saying(body),
    status: 202,
    headers: new Headers({ etag: '"1"' }),
    url: '',
    body: new Uint8Array(),
    json: () => body,
  });
  test('leaves the body as it is when nothing is asked for', () => {
    expect(bodyBeside(answer([1]), {})).toEqual([1]);
  });
  test('adds headers and status to the fields, and puts any other body beside them', () => {
    const asked = { headers: ['etag', 'location'], status: true };
    const beside = { headers: { etag: '"1"', location: undefined }, status: 202 };
    expect(bodyBeside(answer({ id: 1, status: 'ok' }), asked)).toEqual({ id: 1, ...beside });
    expect(bodyBeside(answer([1]), asked)).toEqual({ body: [1], ...beside });
    expect(bodyBeside(answer('text'), asked)).toEqual({ body: 'text', ...beside });
    expect(bodyBeside(answer(''), { status: true })).toEqual({ status: 202 });
  });
});

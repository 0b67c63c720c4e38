import { z } from 'zod';
import type { Progress, SessionProtocol } from './session.ts';
import type { Ask, Range } from './steps.ts';

const contentRange = ({ from, to, size }: Range) => ({ 'content-range': `bytes ${from}-${to - 1}/${size}` });
/** The last byte of `bytes=0-9` or `bytes 0-9/20`; a header that is not there says that there is none. */
const bytesOf = (range: string | undefined): number => Number(/^bytes[= ]0-(\d+)/.exec(range ?? '')?.[1] ?? -1) + 1;

/**
 * Ranges by `Content-Range`, answered by 308 with `Range` until the last is answered by the result; an empty range asks
 * how far the server is (YouTube, PeerTube). `rangeBytes`: a multiple of 256 KiB.
 */
export const contentRanges = <S extends z.ZodType>({
  result,
  ...session
}: Pick<SessionProtocol<z.output<S>>, 'begin' | 'rangeBytes'> & { result: S }): SessionProtocol<z.output<S>> => {
  const call = { method: 'put', accepts: [308], replyHeaders: ['range'] } as const;
  const answer: z.ZodType<Progress<z.output<S>>> = z.union([
    z
      .object({ status: z.literal(308), headers: z.object({ range: z.string().optional() }) })
      .transform(({ headers }) => ({ received: bytesOf(headers.range) })),
    result.transform((value) => ({ result: value as z.output<S> })), // the union forgets it
  ]);
  return {
    ...session,
    send: (path, range) => ({ ...call, path, headers: contentRange(range) }),
    sent: () => answer,
    ask: (path, size) => ({ ...call, path, headers: { 'content-range': `bytes */${size}` } }),
    asked: answer,
    hasResult: true,
  };
};

/** How far the server is, asked by another call: its schema answers the number of bytes. */
export interface OffsetCall {
  ask(session: string): Ask;
  offset: z.ZodType<number>;
}
const asking = ({ ask, offset }: OffsetCall) => ({ ask, asked: offset.transform((received) => ({ received })) });

/**
 * Ranges by `Content-Range`, answered by 206 with the range that the server has, the last by 201; another call tells
 * how far it is (TikTok).
 */
export const contentRangeChunks = ({
  begin,
  rangeBytes,
  longLast,
  ...offset
}: Pick<SessionProtocol<never>, 'begin' | 'rangeBytes' | 'longLast'> & OffsetCall): SessionProtocol<never> => ({
  begin,
  ...(rangeBytes !== undefined && { rangeBytes }),
  ...(longLast && { longLast }),
  ...asking(offset),
  send: (path, range) => ({
    method: 'put',
    path,
    headers: contentRange(range),
    replyHeaders: ['content-range'],
  }),
  sent: ({ to, size }) =>
    z
      .object({ status: z.int(), headers: z.object({ 'content-range': z.string().optional() }) })
      .transform(({ status, headers: { 'content-range': has } }) => ({
        received: status === 201 ? size : has === undefined ? to : bytesOf(has),
      })),
  hasResult: false,
});

/**
 * All that is left in one request, with the place where it begins in a header: `offset` or `file_offset` (Meta);
 * another call tells how far the server is.
 */
export const offsetHeader = ({
  begin,
  name,
  ...offset
}: Pick<SessionProtocol<never>, 'begin'> & OffsetCall & { name: string }): SessionProtocol<never> => ({
  begin,
  ...asking(offset),
  send: (path, { from, size }) => ({
    method: 'post',
    path,
    headers: { [name]: String(from), file_size: String(size) },
  }),
  sent: ({ to }) => z.unknown().transform(() => ({ received: to })),
  hasResult: false,
});

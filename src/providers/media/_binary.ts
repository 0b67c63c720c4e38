import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { fileAnswer, type LargeCall, OPERATION_MS } from '../kit/wire/large.ts';
import type { MediaDone, MediaRequest } from './_calls.ts';
import type { MediaLine } from './_contract.ts';
import { outputOf } from './_operations.ts';

// Providers that answer with the bytes themselves. What they tell beside them is in headers.

type Line = Pick<MediaLine, 'large'>;

/** What is sent for a sound, and what of it is used. */
type Written = (request: MediaRequest) => LargeCall & Pick<MediaDone, 'usage'> & { path: string };

/** An operation that answers a sound. `cost`: the header with the credits that were taken, and what one is. */
export const sound =
  ({ large }: Line, written: Written, cost?: { header: string; micros: number }) =>
  async (request: MediaRequest): Promise<MediaDone> => {
    const { path, usage, ...call } = written(request);
    const { file, headers } = await large(path, Sound, {
      timeoutMs: OPERATION_MS[request.operation === 'speech' ? 'speech' : 'image'],
      ...call,
      ...(cost && { replyHeaders: [cost.header] }),
      creates: true,
    });
    const credits = Number(cost && headers[cost.header] ? headers[cost.header] : Number.NaN);
    const told = Number.isFinite(credits) && { micros: Math.ceil(credits * cost!.micros), source: 'header' as const };
    return { outputs: [outputOf('audio', file)], usage, ...(told && { cost: told }) };
  };
const Sound = z.object({
  file: fileAnswer('audio', 'audio/mpeg'),
  headers: z.record(z.string(), z.string().optional()).default({}),
});

/** The header that tells a picture was filtered, although the status is 200. */
const FINISH = 'finish-reason';
const Filtered = z.object({ headers: z.object({ [FINISH]: z.literal('CONTENT_FILTERED') }) });
const Picture = z
  .unknown()
  .refine((answer) => {
    if (Filtered.safeParse(answer).success) throw refused('rejected', 'The picture was filtered');
    return true;
  })
  .pipe(z.object({ file: fileAnswer('image') }))
  .transform(({ file }): MediaDone => ({ outputs: [outputOf('image', file)], usage: { images: 1 } }));

/** Asks for a picture. */
export const drawn = ({ large }: Line, path: string, call: LargeCall): Promise<MediaDone> =>
  large(path, Picture, { timeoutMs: OPERATION_MS.image, ...call, replyHeaders: [FINISH], creates: true });

import { Transform } from '../../../src/library/media/index.ts';
import { parse } from '../../../src/platform/kernel/index.ts';
import { keptAnswer } from '../../http/idempotency.ts';
import { type AuthKind, type Call, routesOf } from '../../http/route.ts';
import { Job, presentTransform } from './job.shape.ts';

const route = routesOf('media');

/** Changes a file by a job; `input` is judged here, since agents send it in one shape for all operations. */
export const transformFile = (
  {
    rooms,
    principal,
    idempotency,
  }: Pick<Call<'media'>, 'rooms' | 'principal'> & Partial<Pick<Call<'media'>, 'idempotency'>>,
  id: string,
  input: unknown,
) => {
  const { orgId, userId } = principal;
  const kept = keptAnswer(idempotency, 201, presentTransform);
  return rooms.media.transforms.create(orgId, userId, { id, wish: parse(Transform, input) }, kept);
};

/** The change of a file in both dialects. */
export const transformRoute = (path: `/${string}/:id/transform`, auth: readonly [AuthKind, ...AuthKind[]]) =>
  route({
    method: 'post',
    path,
    summary: 'Change a picture or trim a video',
    description:
      'Starts a job whose result is a new file; `jobs/:id` tells how it goes on, and the file itself stays. Sides and ' +
      'offsets are pixels of the upright picture, `from` and `to` seconds. Pictures are resized, cropped and ' +
      'converted (JPEG, PNG, GIF, WebP, AVIF and TIFF). Videos and sounds are trimmed without being encoded anew, so ' +
      'the part begins at the key frame at or before `from`, and only where the server has ffmpeg: 400 elsewhere.',
    auth,
    permission: 'media:create',
    planLimit: 'storage_gb',
    limit: '30/minute',
    idempotent: true,
    creates: true,
    impersonation: 'allowed',
    body: Transform,
    answer: Job,
    handle: (call) => transformFile(call, call.params.id, call.body),
    present: presentTransform,
  });

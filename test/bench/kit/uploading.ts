import { z } from 'zod';
import { openBodies } from '../../../src/library/media/bodies.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import type { Outbound } from '../../../src/platform/outbound/index.ts';
import type { RangedFile } from '../../../src/providers/kit/declare/media.ts';
import { uploadParts, uploadWhole } from '../../../src/providers/kit/protocols/upload/parts.ts';
import { uploadSession } from '../../../src/providers/kit/protocols/upload/session.ts';
import { contentRanges } from '../../../src/providers/kit/protocols/upload/session-forms.ts';
import { openHttp } from '../../../src/providers/kit/wire/open-http.ts';
import type { Providers } from '../../../src/providers/registry/index.ts';

/** The helpers for uploads: ranges of a session, numbered parts, the whole file. */
export const WAYS = ['session', 'parts', 'whole'] as const;
export type Way = (typeof WAYS)[number];

/** A film of the library, and the server that takes it. */
export interface FilmToSend {
  key: string;
  bytes: number;
  partBytes: number;
  /** Of the server. */
  url: string;
}
interface Uploads {
  /** Sends the film by this helper; answers how many bytes were read of it. */
  send(by: Way): Promise<number>;
}

/** Opens the helpers on a film of the local storage, as an adapter has them. */
export function openUploads(
  { outbound, providers }: { outbound: Outbound; providers: Pick<Providers, 'resolve' | 'storage'> },
  { key, bytes, partBytes, url }: FilmToSend,
): Uploads {
  const store = providers.storage(providers.resolve('storage', 'local'), { orgId: 'bench', values: {} });
  const manifest = { title: 'The sink', api: url };
  const http = openHttp({ manifest, outbound, clock: systemClock, values: {}, secrets: [] });
  const line = { http, clock: systemClock, timeoutMs: 60_000 };
  // the file is sent as it is: nothing converts it
  const bodies = openBodies({} as unknown as Parameters<typeof openBodies>[0]);

  let read = 0;
  const place = { store, storageId: 'local', storageVersion: 'v1', storageSettingId: null, ownStorage: false };
  const said = { name: 'film.mp4', contentType: 'video/mp4', size: bytes };
  const body = bodies.sent({ orgId: 'bench', storageKey: key }, said, place, new AbortController().signal);
  const file: RangedFile = {
    ...said,
    async *read(from, to, how) {
      for await (const piece of body.read(from, to, how)) {
        read += piece.length;
        yield piece;
      }
    },
  };
  const kept = { saved: undefined, save: async () => {} };
  const location = z
    .object({ headers: z.object({ location: z.string() }) })
    .transform(({ headers }) => headers.location);
  const session = contentRanges({
    begin: () => http.post('/begin', location, { replyHeaders: ['location'] }),
    rangeBytes: partBytes,
    result: z.object({ id: z.string() }),
  });
  const parts = {
    partBytes,
    begin: async () => 'upload',
    handle: z.string(),
    send: (_: string, { index, body: part }: { index: number; body: object }) =>
      ({ method: 'put', path: `/parts/${index}`, bytes: part }) as never,
    mark: z.object({ status: z.int() }).transform(() => 'part'),
  };
  const uploads: Record<Way, () => Promise<unknown>> = {
    session: () => uploadSession(line, session, file, kept),
    parts: () => uploadParts(line, parts, file, kept),
    whole: () => uploadWhole(line, { method: 'post', path: '/whole' }, file, z.unknown()),
  };
  return {
    async send(by) {
      read = 0;
      await uploads[by]();
      return read;
    },
  };
}

// A process of the product for the benchmark `publish-file`: a file of the library, sent by each helper for uploads.
import { z } from 'zod';
import { openBodies } from '../../../src/library/media/bodies.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { openOutbound } from '../../../src/platform/outbound/index.ts';
import type { RangedFile } from '../../../src/providers/kit/declare/media.ts';
import { uploadParts, uploadWhole } from '../../../src/providers/kit/protocols/upload/parts.ts';
import { uploadSession } from '../../../src/providers/kit/protocols/upload/session.ts';
import { contentRanges } from '../../../src/providers/kit/protocols/upload/session-forms.ts';
import { openHttp } from '../../../src/providers/kit/wire/open-http.ts';
import { openProviders } from '../../../src/providers/registry/index.ts';
import { answering } from '../kit/answering.ts';
import { measured } from '../kit/memory.ts';

interface Settings {
  folder: string;
  key: string;
  bytes: number;
  partBytes: number;
  url: string;
}
const { folder, key, bytes, partBytes, url } = JSON.parse(process.argv[2]!) as Settings;
const outbound = openOutbound({ timeoutMs: 60_000, allowedPrivateCidrs: ['127.0.0.1/32'] });
const providers = openProviders({ outbound, clock: systemClock, sandboxEnabled: false, folder });
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
const location = z.object({ headers: z.object({ location: z.string() }) }).transform(({ headers }) => headers.location);
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
const UPLOADS = {
  session: async () => void (await uploadSession(line, session, file, kept)),
  parts: async () => void (await uploadParts(line, parts, file, kept)),
  whole: async () => void (await uploadWhole(line, { method: 'post', path: '/whole' }, file, z.unknown())),
};

answering({
  async send({ by }: { by: keyof typeof UPLOADS }) {
    read = 0;
    const figures = await measured(UPLOADS[by]);
    return { ...figures, read: read / bytes };
  },
});

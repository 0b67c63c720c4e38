// A process of the product for the benchmark `publish-file`: a file of the library, sent by each helper for uploads.
import { systemClock } from '../../../../src/platform/kernel/index.ts';
import { openOutbound } from '../../../../src/platform/outbound/index.ts';
import { openProviders } from '../../../../src/providers/registry/index.ts';
import { answering } from '../../kit/answering.ts';
import { measured } from '../../kit/memory.ts';
import { type FilmToSend, openUploads, type Way } from '../../kit/uploading.ts';

const { folder, ...film } = JSON.parse(process.argv[2]!) as FilmToSend & { folder: string };
const outbound = openOutbound({ timeoutMs: 60_000, allowedPrivateCidrs: ['127.0.0.1/32'] });
const providers = openProviders({ outbound, clock: systemClock, sandboxEnabled: false, folder });
const uploads = openUploads({ outbound, providers }, film);

answering({
  async send({ by }: { by: Way }) {
    let read = 0;
    const figures = await measured(async () => {
      read = await uploads.send(by);
    });
    return { ...figures, read: read / film.bytes };
  },
});

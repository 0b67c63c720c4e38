import { bind } from '../../platform/kernel/index.ts';
import { importItem, type AddedFile, keptOf, uploadFile, uploadFromUrl } from './additions.ts';
import { openBodies } from './bodies.ts';
import { openCopies } from './copies.ts';
import type { MediaDeps, MediaOptions } from './deps.ts';
import { describeFile, findFileAuthor, getFile, pageOfFiles, removeFile, saveUploaded } from './files.ts';
import { expectStorage, keepMade, keepSubtitles, kindsOf, openSource } from './made.ts';
import { openImport } from './import-item.ts';
import { openIncoming } from './incoming.ts';
import { openIngest, openIngestReceived } from './ingest.ts';
import { openPictures } from './pictures.ts';
import { openPostMedia } from './post-media.ts';
import { openProber } from './probe.ts';
import { openPublicUrl } from './public-url.ts';
import { openRemote } from './remote.ts';
import type { NamedPart } from './rules.ts';
import { openServe } from './serve.ts';
import { openStorages } from './storages.ts';
import { openSweep } from './sweep.ts';
import { openTransforms } from './transforms/index.ts';
import { openTrim } from './transforms/trim.ts';
import { openUploads, type UploadName } from './uploads/index.ts';

export type MediaRoom = Awaited<ReturnType<typeof openMedia>>;

/** Opens the media room, over the storages that the settings name. */
export async function openMedia(options: MediaOptions) {
  const { sql, billing, maxBytes } = options;
  const incoming = await openIncoming(options.folder, options.log);
  const pictures = openPictures();
  const prober = await openProber({ pictures, ffprobe: 'ffprobe', ffmpeg: 'ffmpeg' });
  const storages = openStorages(options);
  const ingest = openIngest({ sql, billing, storages, prober });
  const ingestReceived = openIngestReceived({ prober, ingest });
  const fetchFile = openRemote({ outbound: options.outbound, incoming });
  const copies = openCopies({ sql, storages, prober, incoming, ingest, fetchFile, maxBytes });
  const { dropAbandoned, ...uploads } = openUploads({ ...options, storages, prober, ingest, incoming });
  const makeItem = openImport({
    sql,
    billing,
    storages,
    fetchFile: (from) => fetchFile(from, maxBytes),
    ingestReceived,
  });
  const bodies = openBodies({ pictures, incoming });
  const publicUrlOf = openPublicUrl(options.backendUrl);
  const deps: MediaDeps = {
    ...options,
    incoming,
    storages,
    prober,
    bodies,
    ingest,
    ingestReceived,
    fetchFile,
    makeItem,
    publicUrlOf,
  };

  const transforms = openTransforms({
    ...deps,
    ...options,
    pictures,
    trim: await openTrim('ffmpeg'),
    retentionDays: options.retention.jobDays,
  });

  return {
    ...openPostMedia({ ...options, storages, copies, bodies, publicUrlOf }),
    ...bind(deps, {
      upload: uploadFile,
      uploadFromUrl,
      importItem,
      saveUploaded,
      list: pageOfFiles,
      get: getFile,
      authorOf: findFileAuthor,
      describe: describeFile,
      remove: removeFile,
    }),
    /** What providers of media make of, and for, an organization. */
    made: bind(deps, { keep: keepMade, keepSubtitles, expectStorage, kindsOf, openSource }),
    /** Changes of files that are made here. */
    transforms,
    /** Uploads in parts (S149). */
    uploads: {
      ...uploads,
      complete: async (orgId: string, name: UploadName, parts: readonly NamedPart[]): Promise<AddedFile> =>
        keptOf(deps, await uploads.complete(orgId, name, parts)),
    },
    /** Answers a stored object by the path below `/uploads/`; undefined: nothing that may be served. */
    serve: openServe({ sql, storages }),
    /**
     * Forgets copies of outside media, deleted files, abandoned uploads, and the bytes of all of them; answers how
     * many, `limit` at most of a kind.
     */
    sweep: openSweep({ ...options, storages, uploads: { dropAbandoned }, incoming: incoming.folder }),
    async [Symbol.asyncDispose]() {
      transforms[Symbol.dispose]();
      await pictures[Symbol.asyncDispose]();
    },
  };
}

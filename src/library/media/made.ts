import type { Sql } from '../../platform/db/index.ts';
import { AppError, isId } from '../../platform/kernel/index.ts';
import type { MediaKind, SourceFile } from '../../providers/registry/index.ts';
import type { MediaDeps } from './deps.ts';
import { tooLarge } from './incoming.ts';
import type { Origin } from './ingest.ts';
import { type Format, SUBTITLES } from './rules.ts';
import { type FileRow, presentFiles } from './store.ts';
import type { Generated } from './generated.ts';

/** A file that a provider has made. `also` is written in the commit in which the file comes. */
export interface MadeFile {
  name: string;
  /** What its content may be. */
  kinds: readonly MediaKind[];
  /** Told by the provider; more than MEDIA_UPLOAD_MAX_BYTES is refused before the first byte. */
  bytes?: number | undefined;
  body: AsyncIterable<Uint8Array>;
  generated: Generated;
  also: (sql: Sql, file: Pick<FileRow, 'id' | 'storageKey'>) => Promise<void>;
}

const originOf = (userId: string | null, { name, generated }: Pick<MadeFile, 'name' | 'generated'>): Origin => ({
  name,
  folder: null,
  listed: true,
  createdBy: userId,
  sourceUrl: null,
  generated,
});

/** Keeps what a provider has made, streaming: of the kind that was asked for, judged by its content. */
export async function keepMade(
  { incoming, prober, ingest, maxBytes }: Pick<MediaDeps, 'incoming' | 'prober' | 'ingest' | 'maxBytes'>,
  orgId: string,
  userId: string | null,
  made: MadeFile,
): Promise<FileRow> {
  if (made.bytes !== undefined && made.bytes > maxBytes) throw tooLarge(maxBytes);
  await using received = await incoming.receive(made.body, maxBytes);
  const { path, size: bytes } = received;
  const probed = await prober.look(orgId, path);
  if (!made.kinds.includes(probed.kind))
    throw new AppError(
      'unsupported_media',
      `The result is a file of the kind ${probed.kind}, not ${made.kinds.join(' or ')}`,
    );
  return await ingest(orgId, { probed, bytes, path }, originOf(userId, made), made.also);
}

/** Keeps subtitles that were written here: their type is known. */
export async function keepSubtitles(
  { incoming, ingest, maxBytes }: Pick<MediaDeps, 'incoming' | 'ingest' | 'maxBytes'>,
  orgId: string,
  userId: string | null,
  form: keyof typeof SUBTITLES,
  { text, ...made }: Omit<MadeFile, 'kinds' | 'body' | 'bytes'> & { text: string },
): Promise<FileRow> {
  await using received = await incoming.receive(
    (async function* () {
      yield Buffer.from(text);
    })(),
    maxBytes,
  );
  const format: Format = SUBTITLES[form];
  const probed = { ...format, width: null, height: null, durationMs: null, codecs: [] };
  return await ingest(orgId, { probed, bytes: received.size, path: received.path }, originOf(userId, made), made.also);
}

/** Throws `limit_exceeded` where the organization has no room for one more byte; one that brings its storage has. */
export async function expectStorage(
  { sql, billing, storages }: Pick<MediaDeps, 'sql' | 'billing' | 'storages'>,
  orgId: string,
): Promise<void> {
  if (billing.enabled && !(await storages.choose(orgId)).ownStorage)
    await sql.begin((tx) => billing.admit(tx, orgId, 'storage_gb', 1));
}

/** The kinds of files of the library by id; a file that is not there is absent. */
export async function kindsOf(
  { sql }: Pick<MediaDeps, 'sql'>,
  orgId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, MediaKind>> {
  const files = ids.length === 0 ? [] : await presentFiles(sql, orgId, ids.filter(isId), []);
  return new Map(files.map(({ id, kind }) => [id, kind]));
}

/** Speech takes 4,000 bytes a second at the least: so long is a video or sound at most that nothing here can look into. */
const LEAST_BYTES_PER_SECOND = 4_000;
/** The length of a video or sound; where nobody knows it a bound, by which nothing is settled and no caption ends. */
function lengthOf({ kind, durationMs, bytes }: FileRow): Pick<SourceFile, 'seconds' | 'mostSeconds'> {
  if (kind === 'image') return {};
  return durationMs === null ? { mostSeconds: bytes / LEAST_BYTES_PER_SECOND } : { seconds: durationMs / 1_000 };
}

/** A file of the library for a provider to start from, until `signal` says that the call is over. */
export async function openSource(
  { sql, storages, bodies, publicUrlOf }: Pick<MediaDeps, 'sql' | 'storages' | 'bodies' | 'publicUrlOf'>,
  orgId: string,
  id: string,
  signal: AbortSignal,
): Promise<SourceFile | undefined> {
  const [file] = isId(id) ? await presentFiles(sql, orgId, [id], []) : [];
  if (!file || file.kind === 'document') return undefined;
  const place = await storages.at(orgId, file);
  const publicUrl = await publicUrlOf(file, place);
  const { fit: _, ...sent } = bodies.of(file, place, signal);
  return {
    ...sent,
    kind: file.kind,
    ...lengthOf(file),
    ...(publicUrl !== undefined && { publicUrl }),
  };
}

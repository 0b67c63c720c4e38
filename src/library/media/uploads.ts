import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { Billing } from '../../entitlements/index.ts';
import type { Database, Sql } from '../../platform/db/index.ts';
import {
  AppError,
  type Clock,
  equalSecrets,
  hmacHex,
  isId,
  newId,
  notFound,
  ProviderError,
} from '../../platform/kernel/index.ts';
import type { Multipart, Part } from '../../providers/registry/index.ts';
import { type Judged, type Ingest, mintKey } from './ingest.ts';
import type { Prober } from './probe.ts';
import { type Incoming, tooLarge } from './incoming.ts';
import { drainRequest } from './receive.ts';
import { addPendingDeletion } from './pending-deletions-store.ts';
import { announced, formatOfKey, type NamedPart, partsOfWhole } from './rules.ts';
import { fileOfUpload, type FileRow } from './store.ts';
import type { StoragePlace, Storages } from './storages.ts';
import { openPartsInFlight } from './parts-in-flight.ts';
import * as store from './upload-store.ts';
import type { UploadRow } from './upload-store.ts';

export interface NewUpload {
  name: string;
  size: number;
  type?: string | undefined;
  fileHash?: string | undefined;
}
/** How a client names an upload. */
export interface UploadName {
  key: string;
  uploadId: string;
}
/** The address of a part, as it was signed. */
export interface SignedPart {
  uploadId: string;
  number: number;
  /** Seconds since 1970. */
  expires: number;
  signature: string;
}

/**
 * Uploads in parts (S149): each part is sent by itself, again where it was cut off, until all have arrived and become a
 * file.
 */
export interface Uploads {
  /**
   * Begins one, or goes on with the one that the same person began with the same file. `partSize`: bytes of every part
   * but the last.
   */
  begin(orgId: string, userId: string, file: NewUpload): Promise<UploadName & { partSize: number }>;
  /** An address that takes the part by PUT for an hour: of the storage, or of this service. */
  sign(
    orgId: string,
    name: UploadName,
    partNumber: number,
  ): Promise<{ url: string; headers: Readonly<Record<string, string>> }>;
  /** Takes a part at an address of this service; answers its tag. */
  takePart(part: SignedPart, request: IncomingMessage): Promise<string>;
  parts(orgId: string, name: UploadName): Promise<readonly Part[]>;
  /**
   * Makes a file of the parts, judged by its content like any other. Once: whoever asks again gets the same file,
   * `conflict` as long as it is being made or when it was deleted since.
   */
  complete(orgId: string, name: UploadName, parts: readonly NamedPart[]): Promise<FileRow>;
  abort(orgId: string, name: UploadName): Promise<void>;
  /** Gives up what was begun more than `days` ago (RT8); answers how many. */
  dropAbandoned(days: number, limit: number): Promise<number>;
}

interface Options {
  sql: Database;
  clock: Clock;
  billing: Pick<Billing, 'enabled' | 'admit' | 'lockOrg'>;
  storages: Storages;
  prober: Prober;
  ingest: Ingest;
  incoming: Incoming;
  backendUrl: string;
  maxBytes: number;
  signingKey: string;
}

const MOST_OPEN = 100; // of one organization
// of one organization, as announced: they may all lie here before anything becomes a file
const MOST_OPEN_BYTES = 10 * 1024 ** 3;
const SIGNED_SECONDS = 3_600;
const CLAIM_MS = 15 * 60_000; // completing takes a look at the whole, which may have to be fetched
const RETRY_MS = 1_000;
const HEAD_BYTES = 1_048_576;
const DAY_MS = 86_400_000;
const unknown = () => notFound('Upload not found');

export function openUploads({
  sql,
  clock,
  billing,
  storages,
  prober,
  ingest,
  incoming,
  backendUrl,
  maxBytes,
  signingKey,
}: Options): Uploads {
  const idOf = ({ storageKey, providerUploadId }: UploadRow) => ({ key: storageKey, id: providerUploadId });
  const signatureOf = ({ uploadId, number, expires }: Omit<SignedPart, 'signature'>) =>
    hmacHex(signingKey, `${uploadId} ${number} ${expires}`);
  const partsInFlight = openPartsInFlight();
  const secondsNow = () => Math.floor(clock.now().getTime() / 1_000);

  /** A failure of a storage; that of the disk of this machine is ours. */
  const ofPlace = ({ storageSettingId }: UploadRow, error: unknown) =>
    storageSettingId === null ? incoming.worded(error) : error;

  async function find(orgId: string, { key, uploadId }: UploadName): Promise<UploadRow> {
    const row = isId(uploadId) ? await store.findUpload(sql, orgId, uploadId, key) : undefined;
    if (!row) throw unknown();
    return row;
  }
  /** Where its parts go: here, where the storage takes none. */
  async function openParts(row: UploadRow): Promise<{ place: StoragePlace; multipart: Multipart }> {
    const place = await storages.at(row.orgId, row);
    return { place, multipart: place.store.multipart! }; // a storage without was not chosen
  }

  /** Refuses at once what could not become a file in the end. */
  async function expectRoom(
    tx: Sql,
    orgId: string,
    bytes: number,
    { ownStorage }: Pick<StoragePlace, 'ownStorage'>,
  ): Promise<void> {
    if (billing.enabled && !ownStorage) await billing.lockOrg(tx, orgId);
    await store.lockUploads(tx, orgId);
    const open = await store.openUploadsOf(tx, orgId);
    if (billing.enabled && !ownStorage) await billing.admit(tx, orgId, 'storage_gb', open.bytes + bytes);
    if (open.n >= MOST_OPEN)
      throw new AppError(
        'conflict',
        `${MOST_OPEN} uploads have been begun and not completed: complete or abort one first`,
      );
    if (!ownStorage && open.bytes + bytes > Math.max(MOST_OPEN_BYTES, maxBytes))
      throw new AppError(
        'conflict',
        `Uploads of ${open.bytes} bytes have been begun and not completed: complete or abort one first`,
      );
  }

  async function resumable(row: Parameters<typeof store.uploadOfFile>[1]): Promise<UploadRow | undefined> {
    const found = row.fileHash === null ? undefined : await store.uploadOfFile(sql, row);
    return found && (await (await openParts(found)).multipart.parts(idOf(found))) ? found : undefined;
  }

  /** What lies there, judged by its content; the whole is read only where more can be learned of it. */
  async function judge<T>(
    orgId: string,
    place: StoragePlace,
    key: string,
    work: (judged: Judged) => Promise<T>,
  ): Promise<T> {
    const open = async () => {
      const stored = await place.store.open(key);
      if (!stored)
        throw new AppError('conflict', 'The parts of this upload are no longer in the storage: begin another one');
      return stored;
    };
    await using first = await open();
    const format = await prober.typeOf(
      await buffer(first.read({ start: 0, end: Math.min(first.size, HEAD_BYTES) - 1 })),
    );
    const lies = { place, key };
    if (!prober.needsWhole(format))
      return work({
        probed: { ...format, width: null, height: null, durationMs: null, codecs: [] },
        bytes: first.size,
        lies,
      });
    await using whole = await open();
    await using copy = await incoming.receive(whole.read(), maxBytes);
    // awaited here: the copy goes when this ends
    return await work({ probed: await prober.look(orgId, copy.path), bytes: copy.size, path: copy.path, lies });
  }

  /** False: somebody else has ended it, and what lies there may be a file. */
  const drop = (row: UploadRow): Promise<boolean> =>
    sql.begin(async (tx) => {
      const isOurs = await store.dropUpload(tx, row.orgId, row.id);
      if (isOurs) await addPendingDeletion(tx, row.orgId, row.storageKey, row);
      return isOurs;
    });

  /**
   * Those that no row names: their process ended before it wrote them down, or their organization is gone. In a bucket
   * only what is called as we call it is ours.
   */
  async function dropNobodys({ store: { multipart }, storageSettingId }: StoragePlace, days: number): Promise<void> {
    if (!multipart) return;
    const isOld = (begun: Date) => clock.now().getTime() - begun.getTime() > (days + 1) * DAY_MS;
    const old = (await multipart.uploads()).filter(
      ({ key, begun }) => isOld(begun) && (storageSettingId === null || formatOfKey(key)),
    );
    const named = await store.namedUploads(
      sql,
      old.map(({ id }) => id),
    );
    await Promise.all(old.filter(({ id }) => !named.has(id)).map((upload) => multipart.abort(upload)));
  }

  async function abort(row: UploadRow): Promise<void> {
    const { multipart } = await openParts(row);
    await multipart.abort(idOf(row));
    await drop(row);
  }

  /** The object of these parts; it may be there already, when an earlier attempt came no further. */
  async function assemble(row: UploadRow, multipart: Multipart, named: readonly NamedPart[]): Promise<void> {
    const arrived = await multipart.parts(idOf(row));
    if (!arrived) return;
    const whole = partsOfWhole(named, arrived, row.bytes);
    await multipart.complete(idOf(row), whole).catch((error: unknown) => {
      if (error instanceof ProviderError && error.failure === 'rejected')
        throw new AppError('invalid_request', error.message, {}, { cause: error });
      throw error;
    });
  }

  /** A file of the upload that this process holds. What is no file that may be kept is removed. */
  async function become(row: UploadRow, named: readonly NamedPart[]): Promise<FileRow> {
    const { place, multipart } = await openParts(row);
    await assemble(row, multipart, named);
    const origin = {
      name: row.name,
      folder: null,
      listed: true,
      createdBy: row.createdBy,
      sourceUrl: null,
      uploadId: row.id,
    };
    try {
      return await judge(row.orgId, place, row.storageKey, (judged) =>
        ingest(row.orgId, judged, origin, async (tx) => {
          if (!(await store.dropUpload(tx, row.orgId, row.id)))
            throw new AppError('conflict', 'This upload was completed or aborted meanwhile');
          await addPendingDeletion(tx, row.orgId, row.storageKey, row); // of an object that had to be put elsewhere
        }),
      );
    } catch (error) {
      const isFinal =
        error instanceof AppError && ['unsupported_media', 'limit_exceeded', 'too_large'].includes(error.code);
      // else the sweep does it
      if (isFinal && (await drop(row))) await place.store.remove([row.storageKey]).catch(() => undefined);
      throw error;
    }
  }

  /** The file that somebody else has made of it, or is making. */
  async function completedBefore(orgId: string, { uploadId, key }: UploadName): Promise<FileRow> {
    if (!isId(uploadId)) throw unknown();
    // In this order: the file comes in the commit in which the upload goes.
    if (await store.findUpload(sql, orgId, uploadId, key))
      throw new AppError('conflict', 'This upload is being completed', { retryAfterMs: RETRY_MS });
    const made = await fileOfUpload(sql, orgId, uploadId);
    if (!made) throw unknown();
    if (made.isDeleted)
      throw new AppError('conflict', 'This upload was completed, and its file has been deleted since');
    return made.file;
  }

  return {
    async begin(orgId, userId, { name, size, type, fileHash = null as string | null }) {
      const format = announced(type, name);
      if (!format)
        throw new AppError(
          'unsupported_media',
          'This kind of file is not accepted: send a picture, a video, a sound or a PDF',
        );
      const chosen = await storages.choose(orgId);
      const { store: storage, ...where } = storages.forParts(chosen);
      const multipart = storage.multipart!;
      const begun = { orgId, createdBy: userId, name, fileHash, bytes: size };
      const known = await resumable({ ...begun, ...where });
      if (known)
        return {
          uploadId: known.id,
          key: known.storageKey,
          partSize: (await openParts(known)).multipart.partBytes(size),
        };

      if (size > maxBytes) throw tooLarge(maxBytes);
      await sql.begin((tx) => expectRoom(tx, orgId, size, chosen));
      const key = mintKey(orgId, format.extension);
      const upload = await multipart.begin(key, { bytes: size, mime: format.mime });
      const row: UploadRow = {
        ...begun,
        ...where,
        id: newId(),
        mime: format.mime,
        storageKey: key,
        providerUploadId: upload.id,
      };
      try {
        await sql.begin(async (tx) => {
          await expectRoom(tx, orgId, size, chosen); // others may have begun some meanwhile
          await store.insertUpload(tx, row);
        });
      } catch (error) {
        await multipart.abort(upload).catch(() => undefined);
        throw error;
      }
      return { uploadId: row.id, key, partSize: multipart.partBytes(size) };
    },

    async sign(orgId, name, partNumber) {
      const row = await find(orgId, name);
      const { multipart } = await openParts(row);
      if (multipart.sign) return multipart.sign(idOf(row), partNumber, SIGNED_SECONDS);
      const part = { uploadId: row.id, number: partNumber, expires: secondsNow() + SIGNED_SECONDS };
      const query = new URLSearchParams({ expires: String(part.expires), signature: signatureOf(part) });
      return { url: `${backendUrl}/uploads/${row.id}/${partNumber}?${query.toString()}`, headers: {} };
    },

    async takePart({ signature, ...part }, request) {
      try {
        if (!equalSecrets(signature, signatureOf(part)))
          throw new AppError('forbidden', 'This address was not signed here');
        if (part.expires < secondsNow())
          throw new AppError('link_expired', 'This address has expired: ask for another one');
        const row = await store.uploadOfPart(sql, part.uploadId);
        if (!row) throw unknown();
        const bytes = Number(request.headers['content-length'] ?? 0);
        if (!(bytes > 0)) throw new AppError('invalid_request', 'Send the part as the body, with its Content-Length');
        using sending = partsInFlight.begin(part, bytes, () => request.destroy());
        const { multipart } = await openParts(row);
        const arrived = await multipart.parts(idOf(row));
        if (!arrived) throw unknown();
        if (sending.bytesWith(arrived) > row.bytes)
          throw new AppError('too_large', `The parts are larger than the ${row.bytes} bytes that were announced`);
        const put = await multipart.put(idOf(row), part.number, request, bytes).catch(async (error: unknown) => {
          // completed or given up while the part came
          throw (await multipart.parts(idOf(row))) ? ofPlace(row, error) : unknown();
        });
        return put.etag;
      } catch (error) {
        if (!request.readableEnded) drainRequest(request);
        throw error;
      }
    },

    async parts(orgId, name) {
      const row = await find(orgId, name);
      const parts = await (await openParts(row)).multipart.parts(idOf(row));
      if (!parts) throw unknown();
      return parts;
    },

    async complete(orgId, name, parts) {
      const row = isId(name.uploadId)
        ? await store.claimUpload(sql, orgId, name.uploadId, name.key, CLAIM_MS)
        : undefined;
      if (!row) return await completedBefore(orgId, name);
      try {
        return await become(row, parts);
      } catch (error) {
        await store.releaseUpload(sql, orgId, row.id).catch(() => undefined); // else the hold ends by itself
        // The hold may have ended, so that somebody else made the file; or we made it, and the answer of the commit was
        // lost.
        const made = await fileOfUpload(sql, orgId, row.id).catch(() => undefined);
        if (!made) throw error;
        return await completedBefore(orgId, name);
      }
    },

    async abort(orgId, name) {
      await find(orgId, name);
      const row = await store.claimUpload(sql, orgId, name.uploadId, name.key, CLAIM_MS);
      if (!row) throw new AppError('conflict', 'This upload is being completed');
      await abort(row);
    },

    async dropAbandoned(days, limit) {
      const taken = await store.takeAbandoned(sql, days, limit);
      await Promise.allSettled(taken.map(abort)); // a storage that cannot be reached is asked again when the hold ends
      await dropNobodys(storages.local, days);
      const shared = await storages.shared();
      // not every server can tell what was begun
      if (shared !== storages.local) await dropNobodys(shared, days).catch(() => undefined);
      return taken.length;
    },
  };
}

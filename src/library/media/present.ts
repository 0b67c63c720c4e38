import { z } from 'zod';
import { Attribution } from './attribution.ts';
import { urlOfKey } from './rules.ts';
import type { FileRow } from './store.ts';

/** The File object of S146; a file that was taken from a stock source says so. */
export const FileShape = z.strictObject({
  id: z.string(),
  name: z.string(),
  originalName: z.string(),
  path: z.string(),
  thumbnail: z.string().nullable(),
  alt: z.string(),
  type: z.enum(['image', 'video', 'audio', 'document']),
  mime: z.string(),
  size: z.number(),
  width: z.number().nullable(),
  height: z.number().nullable(),
  durationMs: z.number().nullable(),
  folder: z.string().nullable(),
  organizationId: z.string(),
  createdAt: z.string(),
  updatedAt: z.string(),
  attribution: Attribution.optional(),
});
export type FileShape = z.output<typeof FileShape>;

/** What `/public/v1` answers of an upload. */
export const PublicFile = FileShape.pick({
  id: true,
  name: true,
  originalName: true,
  path: true,
  thumbnail: true,
  alt: true,
  organizationId: true,
  createdAt: true,
  updatedAt: true,
});
export type PublicFile = z.output<typeof PublicFile>;

export const presentFile = (file: FileRow, backendUrl: string): FileShape => ({
  id: file.id,
  name: file.name,
  originalName: file.originalName,
  path: urlOfKey(backendUrl, file.storageKey),
  thumbnail: file.thumbnailKey === null ? null : urlOfKey(backendUrl, file.thumbnailKey),
  alt: file.alt,
  type: file.kind,
  mime: file.mime,
  size: file.bytes,
  width: file.width,
  height: file.height,
  durationMs: file.durationMs,
  folder: file.folder,
  organizationId: file.orgId,
  createdAt: file.createdAt.toISOString(),
  updatedAt: file.updatedAt.toISOString(),
  ...(file.attribution && { attribution: file.attribution }),
});

export const presentPublicFile = ({ id, name, originalName, path, thumbnail, alt, organizationId, createdAt, updatedAt }: FileShape): PublicFile => ({
  id,
  name,
  originalName,
  path,
  thumbnail,
  alt,
  organizationId,
  createdAt,
  updatedAt,
});

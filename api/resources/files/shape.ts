import { z } from 'zod';
import { Attribution, Generated, type LibraryFile } from '../../../src/library/media/index.ts';

/** The File object of S146; a file that was taken from a stock source, or made by a provider, says so. */
export const File = z.strictObject({
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
  generated: Generated.optional(),
});

export const presentFile = (file: LibraryFile): z.input<typeof File> => ({
  id: file.id,
  name: file.name,
  originalName: file.originalName,
  path: file.path,
  thumbnail: file.thumbnail,
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
  ...(file.generated && { generated: file.generated }),
});

/** The form of an upload for `/public/v1`. */
export const PublicFile = File.pick({
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

export const presentPublicFile = (file: LibraryFile): z.input<typeof PublicFile> => {
  const { id, name, originalName, path, thumbnail, alt, organizationId, createdAt, updatedAt } = presentFile(file);
  return { id, name, originalName, path, thumbnail, alt, organizationId, createdAt, updatedAt };
};

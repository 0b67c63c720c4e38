import type { Limits, Picture, PictureRules, SentFile } from '../../providers/registry/index.ts';
import type { Bodies } from './bodies.ts';
import type { Copies } from './copies.ts';
import type { PublicUrlOf } from './public-url.ts';
import { asProviderError } from './remote.ts';
import type { FileRow } from './store.ts';
import type { Storages } from './storages.ts';

/** The attempt that files of a post are loaded for. */
export interface Loading {
  signal: AbortSignal;
  /** What the network takes. */
  limits: Limits;
}

/** A picture of a post: `id` names what is made of it, `path` is how the post names it. */
interface Fitted<P> {
  orgId: string;
  id: string;
  path: string;
  /** Where networks fetch the picture itself. */
  publicUrl: string | undefined;
  isSame: (rules: PictureRules) => boolean;
  fit: (rules: PictureRules) => Promise<P | undefined>;
}

interface Options {
  storages: Storages;
  copies: Copies;
  bodies: Bodies;
  publicUrlOf: PublicUrlOf;
}

/** Answers how a picture of a post is made to fit; for a network that fetches pictures it has an address. */
export function openFitting({ storages, copies, bodies, publicUrlOf }: Options) {
  /** A kept picture, with the address at which the network fetches it. */
  async function pictureOf(file: FileRow, signal: AbortSignal): Promise<Picture> {
    const place = await storages.at(file.orgId, file);
    const publicUrl = await publicUrlOf(file, place);
    const { fit: _, ...sent } = bodies.of(file, place, signal);
    return { ...sent, width: file.width!, height: file.height!, ...(publicUrl !== undefined && { publicUrl }) };
  }

  return <P extends SentFile>(
    { orgId, id, path, publicUrl, isSame, fit }: Fitted<P>,
    { limits, signal }: Loading,
  ): ((rules: PictureRules) => Promise<(P & Pick<Picture, 'publicUrl'>) | Picture | undefined>) =>
    async (rules) => {
      const same = isSame(rules);
      if (same || !limits.fetches?.includes('image')) {
        const picture = await fit(rules);
        return picture && same && publicUrl !== undefined ? { ...picture, publicUrl } : picture;
      }
      const made = await copies
        .made(orgId, `${id}:${rules.maxBytes ?? 'any'}:${rules.maxPixels ?? 'any'}`, () => fit(rules))
        .catch((error: unknown) => {
          throw asProviderError(error, path);
        });
      return made && pictureOf(made, signal);
    };
}

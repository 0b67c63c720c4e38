import { refused } from '../kit/declare/fallback.ts';
import type { FittedCover, Picture, PictureRules, SentFile } from '../kit/declare/media.ts';
import type { Media, Prepared } from './_contract.ts';

/** The picture as the network takes it. */
export async function fitted(file: Media, rules: PictureRules): Promise<Picture> {
  const picture = await file.fit(rules);
  if (!picture) throw refused('rejected', `${file.name} is no picture, or one that cannot be made small enough`);
  return picture;
}
/** The picture that was chosen for a video, as the network takes it; undefined where none was. */
export async function fittedCover({ name, thumbnail }: Media, rules: PictureRules): Promise<FittedCover | undefined> {
  const cover = await thumbnail?.fit(rules);
  if (thumbnail && !cover) throw refused('rejected', `The picture that was chosen for ${name} cannot be made to fit`);
  return cover;
}
/** The file of a post as it is sent: a picture within the rules, any other as it is. */
export const sentFile = async (file: Media, rules: PictureRules): Promise<SentFile> =>
  file.kind === 'image' ? fitted(file, rules) : file;

/** One step of the uploads of a post: uploads the next file, and keeps what it became beside `uploaded`. */
export async function uploadEach<F, U>(
  files: readonly F[],
  uploaded: readonly U[],
  upload: (file: F) => Promise<U>,
  keep: (uploaded: U[]) => Promise<void>,
): Promise<Prepared> {
  const next = files[uploaded.length];
  if (next === undefined) return 'ready';
  await keep([...uploaded, await upload(next)]);
  return uploaded.length + 1 === files.length ? 'ready' : { againMs: 0 };
}

import { z } from 'zod';
import { adviceAt } from './_failures.ts';

const TOO_SLOW = 'Instagram could not download a file in time: it tries again, or takes a smaller file';
const FORMAT = 'A file has a format that Instagram does not take';
const SHAPE = 'A picture is too wide or too tall: Instagram takes 4:5 to 1.91:1';
const TAGS = 'Instagram does not take a tag of the post: look at the people and products that it names';
const UNREACHABLE = 'Instagram could not fetch a file: the address of the files of this server must be public';
const EXPIRED = 'What Instagram had prepared is over: the post has to be prepared anew';
const FAULT = 'A fault inside of Instagram, after which another try may work';

/** What is wrong, by the subcodes of the guide to content publishing, of which containers tell the number alone. */
export const instagramReasons: Readonly<Record<string, string>> = {
  2207001: FAULT,
  2207003: TOO_SLOW,
  2207004: 'A picture is larger than 8 MiB',
  2207005: FORMAT,
  2207008: EXPIRED,
  2207009: SHAPE,
  2207010: 'Instagram does not take the caption: look at its length, hashtags and mentions',
  2207020: EXPIRED,
  2207026: FORMAT,
  2207027: 'Instagram still works on the files',
  2207028: 'Instagram does not take this carousel: it has 2 to 10 files',
  2207032: FAULT,
  2207035: TAGS,
  2207036: TAGS,
  2207037: TAGS,
  2207038: TAGS,
  2207039: TAGS,
  2207040: TAGS,
  2207042: 'The account has published all that Instagram takes of it in 24 hours',
  2207050: 'Instagram has restricted the account: open Instagram and look at its messages',
  2207051: 'Instagram has blocked this action of the account: open Instagram and look at its messages',
  2207052: UNREACHABLE,
  2207053: FAULT,
  2207077: UNREACHABLE,
  2207081: 'The account may not publish trial reels',
  2207082: FAULT,
};

/** What a person can do about a refusal, by its subcode, or by a code that tells as much. */
export const instagramAdvice = z.union([
  adviceAt('error.error_subcode', instagramReasons),
  adviceAt('error.code', { 36001: 'Instagram does not take the resolution of a file', 36003: SHAPE }),
]);

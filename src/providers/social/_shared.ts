import { refused } from '../kit/declare/fallback.ts';
import type { Published } from './_contract.ts';

/** The address of a post that another one is to show as its link. */
export function addressOf({ url }: Published): string {
  if (url === '') throw refused('rejected', 'The post has no address that another post could show');
  return url;
}

import type { AiAdapter } from '../ai/_contract.ts';
import { openAi } from '../ai/_open.ts';
import { openLoginProvider } from '../auth/_open.ts';
import type { AuthAdapter } from '../auth/_contract.ts';
import { openContentPack } from '../contentpack/_open.ts';
import type { ContentPackAdapter } from '../contentpack/_contract.ts';
import { openMailer, openReports } from '../email/_open.ts';
import type { EmailAdapter } from '../email/_contract.ts';
import type { Lines } from '../kit/wire/open-line.ts';
import type { MediaAdapter } from '../media/_contract.ts';
import { openMediaService } from '../media/_open.ts';
import { openShortener } from '../shortlink/_open.ts';
import type { ShortlinkAdapter } from '../shortlink/_contract.ts';
import type { SocialOptions } from '../social/_logins.ts';
import { openSocial } from '../social/_open.ts';
import type { SocialAdapter } from '../social/_contract.ts';
import { openStorage } from '../storage/_open.ts';
import type { StorageAdapter } from '../storage/_contract.ts';
import { openRoutes, type RoutesOptions } from '../vpn/_open.ts';
import type { VpnAdapter } from '../vpn/_contract.ts';

// A new domain adds a line to both lists of this file.

/** The type of adapter that each domain has. */
export interface AdapterOf {
  ai: AiAdapter;
  media: MediaAdapter;
  auth: AuthAdapter;
  social: SocialAdapter;
  email: EmailAdapter;
  contentpack: ContentPackAdapter;
  shortlink: ShortlinkAdapter;
  storage: StorageAdapter;
  vpn: VpnAdapter;
}
export type AnyAdapter = AdapterOf[keyof AdapterOf];

/** Opens the adapters of each domain. */
export const openDomains = (lines: Lines, options: SocialOptions & RoutesOptions) => ({
  ...openSocial(lines, options),
  ai: openAi(lines),
  mediaService: openMediaService(lines),
  mailer: openMailer(lines),
  mailReports: openReports(lines),
  login: openLoginProvider(lines),
  contentPack: openContentPack(lines),
  shortener: openShortener(lines),
  storage: openStorage(lines),
  routes: openRoutes(lines, options),
});

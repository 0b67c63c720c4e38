export {
  AI_KINDS,
  type Ai,
  type AiAdapter,
  type AiAnswer,
  type AiEnd,
  type AiKind,
  type AiModel,
  type AiPart,
  type AiPurpose,
  type AiTurn,
  type EmbedRequest,
  type ObjectRequest,
  type TextAnswer,
  type TextEvent,
  type TextRequest,
} from '../ai/_contract.ts';
export type { Account, AuthAdapter, Login as PersonLogin } from '../auth/_contract.ts';
export {
  CACHE_MS,
  type ContentPack,
  type ContentPackAdapter,
  type Item,
  type Kind,
  KINDS,
  LONGEST_QUERY,
  type Rate,
} from '../contentpack/_contract.ts';
export { stockSources } from '../contentpack/_stock.ts';
export type { Delivery, EmailAdapter, EventRequest, Mailer, Message, ReadReport, Report } from '../email/_contract.ts';
export { type AuthType, type Domain, DOMAINS, type Lifecycle } from '../kit/declare/adapter.ts';
export { isDefaultFor } from '../kit/declare/choices.ts';
export { type Cost, COST_SOURCES, type CostSource, type CallUsage } from '../kit/declare/cost.ts';
export { type Field, type Fields, isAddressField, type Values } from '../kit/declare/fields.ts';
export type { Use } from '../kit/declare/line.ts';
export type { MediaKind, Picture, PictureRules, BodyReading, SentFile } from '../kit/declare/media.ts';
export { serviceAccountToken } from '../kit/protocols/service-account.ts';
export { type TextUnit, UNIT_WORDS } from '../kit/protocols/counted-text.ts';
export { findInText, findLinks } from '../kit/protocols/text.ts';
export type { Outcome } from '../kit/wire/open-line.ts';
export { wholeMs } from '../kit/wire/upload-limits.ts';
export type { AdapterOf, AnyAdapter } from './domains.ts';
export { Documents, type Proof, providersReference } from './document.ts';
export { type CatalogEntry, type CustomField, catalogEntryOf, customFieldsOf } from './catalog-entry.ts';
export { checkReleaseId, checkSettings, knownDomain, type Resolve } from './rules.ts';
export { openProviders, type Providers, type ProvidersOptions } from './service.ts';
export { type MediaStudio, studios } from '../media/_studios.ts';
export {
  type AskedMedia,
  checkMediaRequest,
  defaultModelOf,
  mediaInputOf,
  PROMPT_LENGTH,
  takesOf,
} from '../media/_limits.ts';
export {
  MEDIA_OPERATIONS,
  MEDIA_PURPOSES,
  type MediaDone,
  type MediaHandle,
  type MediaOperation,
  type MediaOutput,
  type MediaPolled,
  type MediaPurpose,
  type MediaRequest,
  type MediaService,
  type MediaStarted,
  type Segment,
  type SourceFile,
} from '../media/_calls.ts';
export { type MediaAdapter, type MediaModel, RHYTHM, type Takes } from '../media/_contract.ts';
export type { Shortener, ShortLink, ShortlinkAdapter } from '../shortlink/_contract.ts';
export { isMetric, type Metric, METRICS } from '../social/_metrics.ts';
export type {
  App,
  AutoPlug,
  ChannelPost,
  CommentPage,
  CommentRead,
  FileLimits,
  Handle,
  Held,
  Step,
  Limits,
  Login,
  LookUp,
  Media,
  Mention,
  NewComment,
  OnceClass,
  Page,
  PlugField,
  Polled,
  Post,
  PostCounts,
  PostPlug,
  Prepared,
  Profile,
  Published,
  Series,
  SettingValues,
  PublicProfile,
  Social,
  SocialAdapter,
  Tokens,
} from '../social/_contract.ts';
export type { Renewal } from '../social/_login-steps.ts';
export type { ConnectOptions } from '../social/_open.ts';
export { type WriteContent, writerOf, type WrittenText } from '../social/_text.ts';
export { checkIdleSettings } from '../social/_idle-settings.ts';
export { checkFiles, checkPost, checkReach, type FileFacts, isConverted, type Issue } from '../social/_limits.ts';
export { exceptionOf, limitsOfItem, takesThread, type ThreadLimits } from '../social/_item-limits.ts';
export {
  type Content,
  type MultipartStore,
  type Part,
  type StorageAdapter,
  type Store,
  type Stored,
  type Upload,
} from '../storage/_contract.ts';
export type { Place, Vpn, VpnAdapter } from '../vpn/_contract.ts';
export type { Routes } from '../vpn/_open.ts';

export type { FeaturedView } from './featured.ts';
export {
  type CallCounts,
  type HealthView,
  openCallCounts,
  openProviderCatalog,
  type ProviderCatalog,
} from './service.ts';

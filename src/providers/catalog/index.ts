export { presentFeatured, presentHealth } from './present.ts';
export { type CallCounts, openCallCounts, openProviderCatalog, type ProviderCatalog } from './service.ts';

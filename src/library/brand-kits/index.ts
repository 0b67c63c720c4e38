export type { BrandKitFields, BrandKitRow } from './store.ts';
export { type BrandKits, openBrandKits } from './service.ts';

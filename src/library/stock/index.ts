export { FoundItem } from './present.ts';
export { openStock, type Stock, type StockKeys } from './service.ts';

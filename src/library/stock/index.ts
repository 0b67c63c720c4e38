export { FoundItem } from './found-item.ts';
export { openStock, type Stock, type StockKeys } from './service.ts';

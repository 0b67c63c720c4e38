export { asWritten, canonical, type Contents } from './contents.ts';
export { type SharedDocuments, hashOfContents, openDocuments } from './service.ts';
export { type Program, type Typist, whoCounts } from './typist.ts';
export type { Agreed, DocumentKey, DocumentRow } from './store.ts';
export type { VersionReason, VersionRow, VersionWithContents } from './versions-store.ts';
export { DocumentUnreadable } from './worker.ts';

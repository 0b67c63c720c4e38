import type { Schemas } from '../../../typescript/src/index.ts';
import type { Column } from '../output.ts';

/** What a dry run says of each channel. */
export const preflightColumns: readonly Column<Schemas['PreflightReport'][number]>[] = [
  ['CHANNEL', ({ id }) => id],
  ['NETWORK', ({ identifier }) => identifier],
  ['VALID', ({ valid }) => (valid ? 'yes' : 'no')],
  ['FAULTS', ({ issues }) => issues.map(({ message }) => message).join('; ')],
  ['WARNINGS', ({ warnings }) => warnings.map(({ message }) => message).join('; ')],
];

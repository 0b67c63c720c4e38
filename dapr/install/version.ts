/**
 * The one version of Dapr that Rookery is built and tested against; docs/adr and `components/` are to be read again
 * before it changes.
 */
export const DAPR_VERSION = '1.18.3';

/** Go's hash of that version's source (`h1:`), which pins all that it needs by its `go.sum`, too. */
export const DAPR_SOURCE_SUM = 'h1:iVTqJHRfJlUfiSyhJH4c1mJZ+4PH3cf/QwJcAJL2ROo=';

export const PROGRAMS = ['daprd', 'placement', 'scheduler'] as const;
export type Program = (typeof PROGRAMS)[number];
/** The full path of each program. */
export type DaprPrograms = Readonly<Record<Program, string>>;

/** Variables as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;
/** Takes one line for people. */
export type Say = (line: string) => void;

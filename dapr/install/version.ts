/** The one version of Dapr that Rookery is built and tested against; docs/adr and `components/` are to be read again before it changes. */
export const DAPR_VERSION = '1.18.3';

export const PROGRAMS = ['daprd', 'placement', 'scheduler'] as const;
export type Program = (typeof PROGRAMS)[number];
/** The full path of each program. */
export type DaprPrograms = Readonly<Record<Program, string>>;

/** Variables as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;
/** Takes one line for people. */
export type Say = (line: string) => void;

/** The environment of this process: what programs started from this folder inherit, and where they are looked for. */
// oxlint-disable-next-line node/no-process-env -- children get it whole; meaning is given to settings in src/config only
export const environment = (): Readonly<Record<string, string | undefined>> => process.env;

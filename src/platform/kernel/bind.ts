/** The functions of a module without their first argument. */
type Bound<F> = {
  [K in keyof F]: F[K] extends (first: never, ...rest: infer A) => infer R ? (...rest: A) => R : never;
};

/** Fills in the first argument of each function: a room's use cases over what it was opened with. */
export const bind = <D, F extends { readonly [K in keyof F]: (deps: D, ...rest: never[]) => unknown }>(
  deps: D,
  functions: F,
): Bound<F> =>
  Object.fromEntries(
    Object.entries<(deps: D, ...rest: never[]) => unknown>(functions).map(([name, run]) => [
      name,
      (...rest: never[]) => run(deps, ...rest),
    ]),
  ) as Bound<F>; // the same names, each without its first argument

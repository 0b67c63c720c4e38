import { type AppError, notFound } from '../../src/platform/kernel/index.ts';

/** Asked for by a request: `url` is what it was sent to. */
interface Asked {
  method: string;
  url: string;
}

/** A segment that may be part of a route. Anything else, such as a token in a wrong path, is not repeated. */
const WORD = /^[A-Za-z._-]{0,24}\d?$/;
const MOST_SEGMENTS = 8;

/**
 * Method and path of a request for the sentence of its refusal: without the query, and of the path only what could name
 * a route.
 */
export function askedFor({ method, url }: Asked): string {
  const segments = url.split('?', 1)[0]!.split('/', MOST_SEGMENTS);
  return `${method} ${segments.map((segment) => (WORD.test(segment) ? segment : '…')).join('/')}`;
}

/** The refusal of a path that no route is declared for; a route that must look like one throws it too. */
export const unknownRoute = (asked: Asked): AppError =>
  notFound(`There is no route ${askedFor(asked)}; /openapi.json lists those there are`);

import type { Config } from '../../src/platform/config/index.ts';
import type { Request } from './route.ts';

const LOOPBACK = /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/;
const LOOPBACK_NAME = /^(localhost|[a-z0-9.-]+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
/** Headers that a proxy on this machine adds: the caller behind it is somebody else. */
const FORWARDED = ['x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'forwarded', 'via'];

/** Says whether the caller is a program on this machine, and no proxy. */
export const isOwnMachine = ({ stream, headers }: Request): boolean =>
  LOOPBACK.test(stream.socket.remoteAddress ?? '') && FORWARDED.every((name) => headers[name] === undefined);

/**
 * Says whether a request of this machine also asks for it by a name that leads nowhere else: a page of the web that
 * lets its own name lead here is no owner.
 */
export function isOwner(request: Request, { production }: Pick<Config, 'production'>): boolean {
  const host = (request.headers['host'] ?? '').toLowerCase().replace(/:\d{1,5}$/, '');
  return !production && isOwnMachine(request) && LOOPBACK_NAME.test(host);
}

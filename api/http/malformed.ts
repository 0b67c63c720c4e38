import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Config } from '../../src/platform/config/index.ts';
import { AppError, newId } from '../../src/platform/kernel/index.ts';
import { refusalText } from './errors.ts';
import { securityHeaders } from './headers.ts';

const explained = (code: string | undefined): AppError =>
  code === 'HPE_HEADER_OVERFLOW'
    ? new AppError('too_large', 'The request line and the headers are too long: shorten them')
    : new AppError(
        'invalid_request',
        code === 'ERR_HTTP_REQUEST_TIMEOUT'
          ? 'The request did not arrive in time: send it again'
          : 'The request is not valid HTTP',
      );

/**
 * Answers what the parser refused (so that no response exists), in the form of every other error, and ends the
 * connection.
 */
export const answerMalformed =
  (config: Config) =>
  (fault: NodeJS.ErrnoException, socket: Duplex): void => {
    // Node's own handler asks it too
    const underWay = (socket as { _httpMessage?: { headersSent: boolean } | null })._httpMessage;
    if (fault.code === 'ECONNRESET' || !socket.writable || underWay?.headersSent) return void socket.destroy();
    const error = explained(fault.code);
    const id = newId();
    const body = refusalText(error, undefined, id, config.http.frontendUrl);
    const headers = {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
      'X-Request-Id': id,
      Connection: 'close',
      ...securityHeaders(config),
    };
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${head.join('')}\r\n${body}`, () =>
      socket.destroy(),
    );
  };

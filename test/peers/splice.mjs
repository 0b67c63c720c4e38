// Leads every request of this process to the recorder, with the origin that was called in a header: the hosts of most
// SDKs are fixed.
import http from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';

const ORIGIN = 'x-test-origin';
let recorder;
/** Requests end at this address from now on. */
export const leadTo = (address) => void (recorder = new URL(address));

const { fetch } = globalThis;
globalThis.fetch = (input, init) => {
  const asked = new Request(input, init);
  const { origin, pathname, search } = new URL(asked.url);
  const request = new Request(recorder.origin + pathname + search, asked);
  request.headers.set(ORIGIN, origin);
  return fetch(request);
};

https.request = (...call) => {
  const callback = typeof call.at(-1) === 'function' ? call.pop() : undefined;
  const [given, more] = call;
  const asked = typeof given === 'string' || given instanceof URL ? { ...urlOptions(new URL(given)), ...more } : given;
  const name = asked.hostname ?? asked.host;
  const headers = { ...asked.headers, [ORIGIN]: `https://${name}` };
  const { hostname, port } = recorder;
  const { protocol: _, agent: __, agents: ___, defaultPort: ____, ...options } = asked;
  return http.request({ ...options, headers, hostname, host: hostname, port }, callback);
};
https.get = (...call) => {
  const request = https.request(...call);
  request.end();
  return request;
};
const urlOptions = ({ hostname, pathname, search }) => ({ hostname, path: pathname + search });
syncBuiltinESMExports();

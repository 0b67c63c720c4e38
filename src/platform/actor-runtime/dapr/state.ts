import type { Address } from '../engine.ts';
import { Fenced } from '../host.ts';
import { escapeName, wireName } from './escape.ts';
import { type Answer, errorCodeOf, type Sidecar } from './sidecar.ts';
import { decode, encode } from './wire.ts';

/** Turns wait for it, so it must not wait behind the calls that wait for turns. */
const LANE = ' state';
const KEY = 'doc';
const at = ({ type, id }: Address) => `/v1.0/actors/${escapeName(type)}/${wireName(id)}/state`;

function refused(answer: Answer, what: string): Error {
  const code = errorCodeOf(answer);
  if (code === 'ERR_ACTOR_INSTANCE_MISSING') return new Fenced('Dapr says that another host has this actor now');
  return new Error(`daprd could not ${what} actor state: ${answer.status} ${answer.text.slice(0, 300)}`);
}

/** The one document of an actor, kept by the sidecar in its state store. */
export const openState = (sidecar: Sidecar) => ({
  async loadState(of: Address): Promise<unknown> {
    const answer = await sidecar.ask(LANE, { method: 'GET', path: `${at(of)}/${KEY}` });
    if (answer.status === 204) return undefined;
    if (answer.status !== 200) throw refused(answer, 'read');
    return decode(answer.text);
  },
  async saveState(of: Address, doc: unknown): Promise<void> {
    const answer = await sidecar.ask(LANE, {
      method: 'POST',
      path: at(of),
      body: encode([{ operation: 'upsert', request: { key: KEY, value: doc } }]),
    });
    if (answer.status >= 300) throw refused(answer, 'write');
  },
});

import { expect, test } from '@jest/globals';
import { StartError } from '../../kernel/index.ts';
import { knownServerUser, type ServerUser, serverUser, type Users } from './binaries.ts';

const NOBODY = { uid: 65_534, gid: 65_534 };
const POSTGRES = { uid: 990, gid: 991 };
/** A machine without the user `postgres`, where it can be made, as root looks at it. */
function machine({
  isRoot = true,
  canMake = true,
  owner,
  ...names
}: { isRoot?: boolean; canMake?: boolean; owner?: ServerUser; postgres?: ServerUser } = {}) {
  const there: Record<string, ServerUser> = { nobody: NOBODY, ...names };
  const users: Users = {
    isRoot,
    known: (name) => there[name],
    make(name) {
      if (!canMake) throw new Error('useradd: not found');
      there[name] = POSTGRES;
    },
    ownerOf: (path) => (path === '/data/postgres/data' ? owner : undefined),
  };
  const said: string[] = [];
  return { users, there, said, user: () => serverUser('/data/postgres', (line) => said.push(line), users) };
}

test('a normal user runs the server directly', () => {
  expect(machine({ isRoot: false }).user()).toBeUndefined();
});

test('root runs the server as the owner of the data, else as postgres', () => {
  const normal = { uid: 1_000, gid: 1_000 };
  expect(machine({ owner: normal, postgres: POSTGRES }).user()).toEqual(normal);
  expect(machine({ postgres: POSTGRES }).user()).toEqual(POSTGRES);
  expect(machine({ owner: { uid: 0, gid: 0 }, postgres: POSTGRES }).user()).toEqual(POSTGRES);
});

test('a missing user postgres is created and reported; the search for a server creates none', () => {
  const here = machine();
  expect(knownServerUser('/data/postgres', here.users)).toBeUndefined();
  expect(Object.keys(here.there)).toEqual(['nobody']);
  expect(here.user()).toEqual(POSTGRES);
  expect(here.said).toEqual(['Making the system user postgres: Postgres does not run as root']);
});

test.each([
  [
    'postgres cannot be made',
    machine({ canMake: false }),
    'Start as a normal user, make that user (useradd --system postgres), or set DATABASE_URL',
  ],
  [
    'its data belong to nobody',
    machine({ owner: NOBODY, postgres: POSTGRES }),
    'chown -R postgres: /data/postgres/data',
  ],
])('the server never runs as nobody: where %s the start is refused with a remedy', (_, here, advice) => {
  expect(here.user).toThrow(StartError);
  expect(here.user).toThrow(advice);
});

import { expect, test } from '@jest/globals';
import { systemClock } from '../../../platform/kernel/index.ts';
import { openInstances } from './instances.ts';

const triple = { domain: 'storage', id: 'demo', version: 'v1' };
const use = (values: Record<string, string> = { key: 'a', secret: 'b' }, orgId: string | null = 'org-1') => ({
  orgId,
  values,
});

function world(most = 100) {
  let now = 0;
  const instances = openInstances({ clock: { ...systemClock, monotonic: () => now }, forMs: 1_000, most });
  return {
    instances,
    open: (one = triple, given = use()) => instances.get(one, given, () => ({})),
    pass: (ms: number) => void (now += ms),
  };
}

test('keeps one instance for each version, organization and credentials, in any order of fields [VE21]', () => {
  const { open } = world();
  const first = open();
  expect(open(triple, use({ secret: 'b', key: 'a' }))).toBe(first);
  const others = [
    open({ ...triple, version: 'v2' }),
    open({ ...triple, id: 'other' }),
    open({ ...triple, domain: 'email' }),
    open(triple, use(undefined, 'org-2')),
    open(triple, use(undefined, null)),
    open(triple, use({ key: 'a', secret: 'c' })),
    open(triple, use({ key: 'a' })),
  ];
  expect(new Set([first, ...others]).size).toBe(8);
});

test('separates names from values of fields in the fingerprint [VE21]', () => {
  const { open } = world();
  expect(open(triple, use({ a: 'b","c', d: '' }))).not.toBe(open(triple, use({ a: 'b', c: 'd' })));
});

test('opens another instance for changed credentials, and drops the old one [VE22]', () => {
  const { instances, open } = world();
  const [first, others] = [open(), open(triple, use(undefined, 'org-2'))];
  instances.forget(triple, 'org-1');
  expect(instances.size).toBe(1);
  expect(open()).not.toBe(first);
  expect(open(triple, use(undefined, 'org-2'))).toBe(others);
});

test('replaces an instance after its lifetime, and drops the oldest beyond the limit', () => {
  const { instances, open, pass } = world(2);
  const first = open();
  pass(999);
  expect(open()).toBe(first);
  pass(1);
  expect(open()).not.toBe(first);
  open({ ...triple, id: 'second' });
  open({ ...triple, id: 'third' });
  expect(instances.size).toBe(2);
  pass(1_000);
  open();
  expect(instances.size).toBe(1);
});

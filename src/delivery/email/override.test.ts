import { expect, test } from '@jest/globals';
import { openOverride } from './override.ts';

type Values = Record<string, string>;

/** Settings that change, and what was opened and closed because of them. */
function changing(first: Values | undefined) {
  const done: string[] = [];
  const of = { values: first as Values | undefined, version: 'v1' };
  const override = openOverride({
    read: async () => of.values && { adapter: { version: of.version }, values: of.values },
    open: ({ adapter, values }) => {
      done.push(`open ${values['key']}`);
      const mailer = { send: async () => ({ messageId: '1' }), close: () => void done.push(`close ${values['key']}`) };
      return { providerId: 'p', providerVersion: adapter.version, mailer };
    },
  });
  return { of, done, override };
}

test('the setting of operators is opened once, and again when it changes', async () => {
  const { of, done, override } = changing({ key: 'a' });
  const first = await override.current();
  expect(await override.current()).toBe(first);
  of.values = { key: 'b' };
  expect(await override.current()).not.toBe(first);
  of.version = 'v2';
  expect((await override.current())?.providerVersion).toBe('v2');
  expect(done).toEqual(['open a', 'close a', 'open b', 'close b', 'open b']);
});

test('an unset provider gives none, and the earlier one is closed', async () => {
  const { of, done, override } = changing(undefined);
  expect(await override.current()).toBeUndefined();
  of.values = { key: 'a' };
  await override.current();
  of.values = undefined;
  expect(await override.current()).toBeUndefined();
  override[Symbol.dispose]();
  expect(done).toEqual(['open a', 'close a']);
});

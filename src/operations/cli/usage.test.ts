import { describe, expect, test } from '@jest/globals';
import { readUsage } from './usage.ts';

const commands = {
  start: { about: 'everything in one process' },
  demo: { about: 'does the main job', takes: '[address]' },
  gen: { about: 'writes the generated files', options: ['--check'] },
};
const read = (...argv: string[]) => readUsage(argv, commands, '1.2.3');

describe('a command line', () => {
  test('lists every command without arguments or with a call for help', () => {
    for (const argv of [[], ['help'], ['--help'], ['-h']])
      expect(read(...argv)).toEqual({
        status: 0,
        text: expect.stringMatching(
          /^Usage: node rookery\.mjs <command>\n[^]*start +everything[^]*demo \[address\] +does/,
        ),
      });
  });
  test('prints the version with --version', () => {
    expect(read('--version')).toEqual({ status: 0, text: '1.2.3' });
    expect(read('-v')).toEqual({ status: 0, text: '1.2.3' });
  });
  test('describes only the named command with --help', () => {
    expect(read('demo', '--help')).toEqual({
      status: 0,
      text: 'Usage: node rookery.mjs demo [address]\n\n  does the main job',
    });
    expect(read('gen', '-h')).toEqual({
      status: 0,
      text: 'Usage: node rookery.mjs gen [--check]\n\n  writes the generated files',
    });
  });
  test('repeats a word that is no command', () => {
    for (const word of ['nonsense', 'toString'])
      expect(read(word)).toEqual({
        status: 2,
        text: expect.stringMatching(new RegExp(`^Unknown command: ${word}\n\nUsage: `)),
      });
  });
  test('rejects an option or argument unknown to the command', () => {
    expect(read('start', '--port', '3401')).toEqual({
      status: 2,
      text: expect.stringContaining('Unknown option of start: --port'),
    });
    expect(read('start', '3401')).toEqual({
      status: 2,
      text: expect.stringContaining('Too many arguments of start: 3401'),
    });
    expect(read('demo', 'a', 'b')).toEqual({
      status: 2,
      text: expect.stringContaining('Too many arguments of demo: a b'),
    });
  });
  test('runs the command with its arguments otherwise', () => {
    expect(read('start')).toEqual({ run: 'start', args: [] });
    expect(read('demo', 'http://127.0.0.1:3001')).toEqual({ run: 'demo', args: ['http://127.0.0.1:3001'] });
    expect(read('gen', '--check')).toEqual({ run: 'gen', args: ['--check'] });
  });
});

import { expect, test } from '@jest/globals';
import { globSync, readFileSync } from 'node:fs';
import { good } from '../support/processes/history/sample.ts';
import { INVARIANTS, unjudgedIn } from '../support/processes/history/matter.ts';
import { wholeOf } from '../support/processes/wave-fault.ts';

// What the files of this folder inject and judge, read from what they do and not from what they say.

/** The calls by which a fault is injected, in the file of its number. */
const INJECTED: Readonly<Record<string, { by: readonly RegExp[] }>> = {
  F1: { by: [/\bservice\.kill\(/] },
  F2: { by: [/\bservice\.killSidecar!\(/, /\bservice\.restartSidecar!\(/] },
  F3: { by: [/\bplacement\.signal\('SIGKILL'\)/, /\brestartPlacement\(/] },
  F4: { by: [/\bscheduler\.signal\('SIGKILL'\)/, /\brmSync\(/, /\brestartScheduler\(/] },
  F5: { by: [/\bpostgres\.stopAtOnce\(/, /\bpostgres\.start\(/] },
  F6: { by: [/'flushall'/, /\bprocess\.kill\(redis\.pid, 'SIGKILL'\)/] },
  F7: { by: [/\bcutEach\(toPostgres/, /\bcutEach\(toRedis/, /\bcutEach\(proxies/] },
  F8: { by: [/\bhostClock\(/, /\bclock\.set\(/] },
  F9: { by: [/\bsmallDisk\(/, /\bdisk\.fill\(/] },
  F10: { by: [/\bbrokenFor\(network/, /'delay'/, /'slow'/, /'half-open'/] },
  F11: { by: [/outcome: 'error'/, /outcome: 'rate_limited'/, /outcome: 'garbage'/, /outcome: 'error_after_accept'/] },
  F12: { by: [/\bstartTwiceProxy\(/, /\bprogram: TWICE\b/] },
  F13: { by: [/\bhost\.signal\('SIGSTOP'\)/, /\bhost\.signal\('SIGCONT'\)/] },
  F14: { by: [/\bservice\.end\(/, /\bservice\.restart\(/] },
  F15: { by: [/--max-old-space-size=/, /\.upload\(/] },
  F16: { by: [/\bprocess\.kill\(pid, 'SIGSTOP'\)/, /\bpause\(pids\(\)\)/] },
};
const FAULTS = Array.from({ length: 16 }, (_, n) => `F${n + 1}`);

/** The code of a file, without its comments. */
const codeOf = (file: string) => readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
const fileOf = (fault: string) => globSync(`test/chaos/f${fault.slice(1).padStart(2, '0')}-*.test.ts`);
/** It may be skipped where a machine lacks something, and never by itself. */
const isRun = (code: string) =>
  /^(?:test|testOnDapr|describe|\(\w+(?: === undefined)? \? test : test\.skip\)|withDisk)[.(]/m.test(code) &&
  !/\b(?:test|describe)\.(?:skip|only)\(/.test(code);
/** The faults whose waves are judged by all invariants: each compares what came of it with a whole wave. */
const isJudgedByAll = (code: string) =>
  /\btestOnDapr\(/.test(code) ||
  (/\bbrokenBy\(/.test(code) && /\btoEqual\((?:WHOLE|wholeOf\()/.test(code)) ||
  /\bunjudgedIn\(history\)\]\)\.toEqual\(\[\[\], \[\]\]\)/.test(code);

test('each of the 16 faults is injected by the file of its number, and each of the 12 invariants is judged in waves that have matter for it [R12]', () => {
  expect(Object.keys(INJECTED)).toEqual(FAULTS);
  const judged = FAULTS.filter((fault) => {
    const files = fileOf(fault);
    expect([fault, files]).toEqual([fault, [expect.any(String)]]);
    const code = codeOf(files[0]!);
    expect([fault, isRun(code)]).toEqual([fault, true]);
    expect([fault, INJECTED[fault]!.by.filter((call) => !call.test(code))]).toEqual([fault, []]);
    return isJudgedByAll(code);
  });
  expect(judged).toEqual(FAULTS);
  expect(INVARIANTS).toEqual(Array.from({ length: 12 }, (_, n) => `I${n + 1}`));
  // a wave is whole only with matter for all of them
  expect(wholeOf({ posts: 1, before: 1, later: 0, laterMs: 0 }).unjudged).toEqual([]);
});

test('a history without payments, mails, limits, edits or follow-ups gives their invariants nothing to judge', () => {
  expect(unjudgedIn(good)).toEqual(['I5', 'I7', 'I8', 'I10', 'I12']);
  const empty = { ...good, created: [], ledger: [], received: [], hooks: [], canary: undefined, isLetAlone: false };
  expect(unjudgedIn(empty)).toEqual(INVARIANTS);
});

// Kills hosts of the product in virtual time, and says as JSON what became of what each of them held:
// `node test/support/processes/scripts/takeover-process.ts '[{"victim":"beside","instant":"taken","phaseMs":0}]'`.
await import('../../../sim/globals.ts'); // before everything of the product
const { killAll } = await import('../../worlds/publishing/takeovers.ts');

process.stdout.write(`${JSON.stringify(await killAll(JSON.parse(process.argv[2] ?? '[]')))}\n`);
process.exit(0);

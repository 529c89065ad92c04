import { afterEach, beforeEach, expect, test } from 'vitest';
import { commandsOn, type CommandResult } from '../../../test/support/command.ts';
import { openTwoCells } from '../../../test/support/two-cells.ts';
import { registerAccountCommands } from '../accounts/commands.ts';
import { createAccount } from '../accounts/create.ts';
import { checkMoves } from '../diagnosis/check-moves.ts';
import type { Cell } from './cells.ts';
import { freeze } from './leave.ts';
import { markArriving, moveToLeft, updateArrived } from './sql.ts';

let opened: AsyncDisposableStack;
let [a, b]: [Cell, Cell] = [] as never;
let run: (...args: readonly string[]) => Promise<CommandResult>;
let accountId: number;
beforeEach(async () => {
  opened = new AsyncDisposableStack();
  const cells = opened.use(await openTwoCells());
  ({ a, b } = cells);
  run = commandsOn({ connectionString: cells.urls.get(0) ?? '' }, registerAccountCommands);
  ({ accountId } = await createAccount(a.pool, { name: 'Acme', plan: 'production', creditMicros: 0 }));
});
afterEach(() => opened.disposeAsync());

test.each([
  ['--finish', '--dry-run'],
  ['--abort', '--dry-run'],
  ['--finish', '--abort'],
])('options that contradict each other are refused before anything is done: %s and %s', async (...flags) => {
  const { code, stderr } = await run('account', 'move', 'Acme', '--to', '1', ...flags);
  expect(code).toBe(1);
  expect(stderr).toMatch(/--\S+ and --\S+ exclude each other/);
});

test('where an account is that is not served here is listed, and the doctor names it until it has arrived', async () => {
  const listed = async () => ((await run('account', 'list')).answer as { move: unknown }[])[0]?.move;
  expect([await listed(), await checkMoves(a.pool)]).toMatchObject([null, { ok: true, detail: 'none' }]);
  await freeze(a.pool, { accountId, cell: 1, hasDirectory: false, seconds: 60 });
  expect(await listed()).toEqual({ state: 'leaving', cell: 1 });
  const held = `account ${accountId} is held on its way to cell 1: its requests are answered 503`;
  expect(await checkMoves(a.pool)).toMatchObject({ ok: false, detail: held });
  await markArriving(b.pool, { accountId, cell: 0, isComplete: false });
  expect(await checkMoves(b.pool)).toMatchObject({ ok: true, detail: `account ${accountId} arrives from cell 0` });
  await moveToLeft(a.pool, { accountId });
  expect(await checkMoves(a.pool)).toMatchObject({ ok: false, detail: expect.stringContaining('has not arrived') });
  await updateArrived(a.pool, { accountId });
  expect(await listed()).toEqual({ state: 'left', cell: 1 });
  expect(await checkMoves(a.pool)).toMatchObject({ ok: true, detail: 'none' });
});

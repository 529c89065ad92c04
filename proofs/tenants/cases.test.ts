import { expect, test } from 'vitest';
import { listRoutes } from '../lib/routes.ts';
import { compareCases } from './cases.ts';

test('every route of the program has a case in the proof that accounts are kept apart', async () => {
  expect(compareCases(await listRoutes())).toEqual({ withoutCase: [], stale: [] });
});

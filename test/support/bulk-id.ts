import { newId } from '../../src/core/ids.ts';

/** Returns an id that surely is not taken for that of a single send. */
export const bulkId = (): string => `${newId().slice(0, -2)}ff`;

import type { Beginning, Targets } from './import.ts';
import type { ListChoice } from '../list-choice.tsx';

/** What is settled so far. */
export type Draft = {
  readonly file: File | null;
  readonly list: ListChoice;
  /** null before the file is read, and for a vCard. */
  readonly beginning: Beginning | null;
  readonly targets: Targets;
};

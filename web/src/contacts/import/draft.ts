import type { FilePreview, Targets } from './import.ts';
import type { ListChoice } from '../list-choice.tsx';

/** The choices made in the steps so far. */
export type Draft = {
  readonly file: File | null;
  readonly list: ListChoice;
  /** The server's preview of the file; null before the file is read, and for vCards. */
  readonly preview: FilePreview | null;
  readonly targets: Targets;
};

import { useAction } from '../../api/action.ts';
import { type ChangeDraft, type Draft, namesFor, type Reading, toReadingBody } from './draft.ts';
import { type FilePreview, previewFile, type Targets } from './import.ts';

type Reread = { readonly reading: Reading; readonly targets: Targets };

/**
 * Reads the file with other options, and shows its beginning. If its columns differ, their fields are suggested again;
 * corrected rows are kept only as long as the rows are the same.
 */
export function useReread(draft: Draft, onChange: ChangeDraft) {
  const action = useAction<Reread, FilePreview | null>({
    run: async (next) => (draft.file === null ? null : previewFile(draft.file.uploadId, toReadingBody(next))),
    onDone(preview, { reading, targets }) {
      if (preview === null) return;
      // The columns may have got other fields again while the server was reading.
      if (targets.length > 0) {
        onChange({ preview });
        return;
      }
      const { fields } = preview;
      onChange({ preview, targets: fields, reading: { ...reading, names: namesFor(fields) } });
    },
  });
  return {
    busy: action.busy,
    /** Changes how the text is split into columns. */
    reread: (patch: Partial<Reading>): void => {
      const reading = { ...draft.reading, ...patch };
      onChange({ reading, edits: {} });
      action.run({ reading, targets: [] });
    },
    /** Changes the targets of the columns. */
    retarget: (targets: Targets, patch: Partial<Reading> = {}): void => {
      const reading = { ...draft.reading, ...patch };
      onChange({ reading, targets });
      action.run({ reading, targets });
    },
  };
}

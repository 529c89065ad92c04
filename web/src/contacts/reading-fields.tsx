import { NativeSelect, SimpleGrid, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { useCountries } from '../ui/countries.ts';
import { SmallTable } from '../ui/small-table.tsx';
import {
  type ChangeDraft,
  type Draft,
  type FilePreview,
  namesFor,
  previewFile,
  type Reading,
  type Targets,
  toReadingBody,
} from './import.tsx';

const ENCODINGS = [
  'utf-8',
  'windows-1252',
  'windows-1250',
  'windows-1251',
  'windows-1253',
  'windows-1254',
  'macintosh',
  'utf-16le',
  'utf-16be',
  'mixed',
] as const;
const DELIMITERS = [
  { value: ',', key: 'comma' },
  { value: ';', key: 'semicolon' },
  { value: '\t', key: 'tab' },
  { value: '|', key: 'bar' },
] as const;

type ReadingFieldsProps = {
  readonly draft: Draft;
  readonly preview: FilePreview;
  readonly onChange: ChangeDraft;
};

/**
 * Options for reading the file: the country of its numbers, its delimiter and encoding, and its first rows with these.
 */
export function ReadingFields({ draft, preview, onChange }: ReadingFieldsProps) {
  const { t } = useTranslation('contacts');
  const countries = useCountries();
  const { reread, busy } = useReread(draft, onChange);
  const { reading } = draft;
  const likely = countries.filter(({ value }) => preview.countries.includes(value));
  const isGuess = reading.country !== null && reading.country === preview.country;
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, xs: preview.delimiter === null ? 1 : 3 }}>
        <NativeSelect
          label={t('import.country')}
          description={t(isGuess ? 'import.countryGuessed' : 'import.countryHint')}
          value={reading.country ?? ''}
          disabled={busy}
          data={[
            { value: '', label: t('import.countryNone') },
            ...(likely.length > 0 ? [{ group: t('import.countryLikely'), items: likely }] : []),
            {
              group: t('import.countryAll'),
              items: countries.filter(({ value }) => !preview.countries.includes(value)),
            },
          ]}
          onChange={(event) => onChange({ reading: { ...reading, country: event.currentTarget.value || null } })}
        />
        {preview.delimiter !== null && (
          <>
            <NativeSelect
              label={t('import.delimiter')}
              description={t('import.delimiterHint')}
              value={preview.delimiter}
              disabled={busy}
              data={DELIMITERS.map(({ value, key }) => ({ value, label: t(`import.delimiters.${key}`) }))}
              onChange={(event) => {
                const { value } = event.currentTarget;
                const found = DELIMITERS.find((one) => one.value === value);
                if (found) reread({ delimiter: found.value });
              }}
            />
            <NativeSelect
              label={t('import.encoding')}
              description={t('import.encodingHint')}
              value={preview.encoding ?? 'utf-8'}
              disabled={busy}
              data={ENCODINGS.map((value) => ({ value, label: t(`import.encodings.${value}`) }))}
              onChange={(event) => {
                const { value } = event.currentTarget;
                const found = ENCODINGS.find((one) => one === value);
                if (found) reread({ encoding: found });
              }}
            />
          </>
        )}
      </SimpleGrid>
      <Sample preview={preview} />
    </Stack>
  );
}

/** The first rows, so that a wrong delimiter or encoding is seen. */
function Sample({ preview: { columns, preview } }: Pick<ReadingFieldsProps, 'preview'>) {
  const { t } = useTranslation('contacts');
  return (
    <Stack gap={4}>
      <Text size="sm" fw={500}>
        {t('import.sample')}
      </Text>
      <SmallTable<{ readonly cells: readonly string[]; readonly at: number }>
        label={t('import.sample')}
        maxHeight={360}
        rows={preview.map((cells, at) => ({ cells, at }))}
        rowId={({ at }) => at}
        columns={columns.map((column, i) => ({
          id: String(i),
          header: <span className="foreign-text">{column}</span>,
          cell: ({ cells }) => (
            <Text size="sm" maw={260} truncate className="foreign-text">
              {cells[i] ?? ''}
            </Text>
          ),
        }))}
      />
    </Stack>
  );
}

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

import { NativeSelect, SimpleGrid, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useCountries } from '../../ui/values/countries.ts';
import type { ChangeDraft, Draft } from './draft.ts';
import type { FilePreview } from './import.ts';
import classes from './summary.module.css';
import { useReread } from './use-reread.ts';

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
      <div className={classes.pane} tabIndex={0} role="region" aria-label={t('import.sample')}>
        <table className={classes.table} aria-label={t('import.sample')}>
          <thead>
            <tr>
              {columns.map((column, at) => (
                <th key={at} className="foreign-text">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {preview.map((cells, at) => (
              <tr key={at}>
                {columns.map((_, i) => (
                  <td key={i} className={`foreign-text ${classes.sample}`}>
                    {cells[i] ?? ''}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Stack>
  );
}

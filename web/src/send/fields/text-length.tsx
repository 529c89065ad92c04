import { Button, Group } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { PartsCounter } from '../../ui/message/parts-counter.tsx';
import type { DraftForm } from '../draft.ts';
import type { Preview } from '../message.ts';

/** Characters that word processors and phones insert, and their equivalents in GSM 03.38. */
const PLAIN: Readonly<Record<string, string>> = {
  '“': '"',
  '”': '"',
  '„': '"',
  '‘': "'",
  '’': "'",
  '‚': "'",
  '«': '"',
  '»': '"',
  '–': '-',
  '—': '-',
  '‑': '-',
  '…': '...',
  '•': '-',
  '\u00a0': ' ',
  '\u202f': ' ',
};

const isPlainable = (character: string): boolean => Object.hasOwn(PLAIN, character);
const plain = (text: string): string => Array.from(text, (character) => PLAIN[character] ?? character).join('');

type TextLengthProps = { readonly form: DraftForm; readonly preview: Preview | undefined };

/** The length of the text, with a button that replaces the characters that force UCS-2. */
export function TextLength({ form, preview }: TextLengthProps) {
  const { t } = useTranslation('send');
  if (form.values.text === '' || preview === undefined || preview.text === '') return null;
  const { characters, parts, encoding, remaining, unsupported } = preview;
  return (
    <Group justify="space-between" gap="xs">
      <PartsCounter
        characters={characters}
        parts={parts}
        encoding={encoding}
        remaining={remaining}
        unsupported={unsupported}
      />
      {unsupported.some(isPlainable) && (
        <Button size="compact-sm" variant="default" onClick={() => form.setFieldValue('text', plain(form.values.text))}>
          {t('plain')}
        </Button>
      )}
    </Group>
  );
}

import { Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Hint } from '../hint.tsx';
import { useFormat } from '../values/format.ts';

type PartsCounterProps = {
  readonly characters: number;
  readonly parts: number;
  /** The encoding; null on channels without parts. */
  readonly encoding: string | null;
  /** Characters left in the last part. */
  readonly remaining?: number | null;
  /** The characters that force UCS-2, in which a part holds fewer characters. */
  readonly unsupported?: readonly string[];
};

/** The characters, parts and encoding of a text, and the characters that force UCS-2. */
export function PartsCounter({ characters, parts, encoding, remaining, unsupported = [] }: PartsCounterProps) {
  const { t } = useTranslation('ui');
  const format = useFormat();
  return (
    <Group gap="md" role="status" aria-live="polite">
      <Text size="xs" c="dimmed" className="tabular">
        {t('parts.characters', { count: characters, shown: format.number(characters) })}
      </Text>
      {encoding !== null && (
        <>
          <Text size="xs" fw={600} className="tabular">
            {t('parts.parts', { count: parts })}
          </Text>
          <Hint label={t(encoding === 'UCS-2' ? 'parts.ucs2' : 'parts.gsm7')}>
            <Text size="xs" c="dimmed" tabIndex={0}>
              {encoding}
            </Text>
          </Hint>
          {remaining !== null && remaining !== undefined && (
            <Text size="xs" c="dimmed" className="tabular">
              {t('parts.remaining', { count: remaining })}
            </Text>
          )}
        </>
      )}
      {unsupported.length > 0 && (
        <Text size="xs" className="foreign-text" style={{ color: 'var(--mantine-color-amber-text)' }}>
          {t('parts.unsupported', { characters: unsupported.slice(0, 12).join(' ') })}
        </Text>
      )}
    </Group>
  );
}

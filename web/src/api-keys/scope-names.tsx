import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../ui/values/format.ts';
import { Hint } from '../ui/hint.tsx';

/** All scopes, in display order. */
export const SCOPES = [
  'SMS',
  'WHATSAPP',
  'RCS',
  'campaigns',
  'contacts',
  'tracking',
  'inbox',
  'exports',
  'webhooks',
  'media',
  'money',
  'social',
  'keys',
] as const;

const MAX_SHOWN = 3;

/** The scopes of a key: the first few by name, all of them in a tooltip. */
export function ScopeNames({ scopes }: { readonly scopes: readonly string[] }) {
  const { t } = useTranslation('api-keys');
  const format = useFormat();
  const names = SCOPES.filter((scope) => scopes.includes(scope)).map((scope) => t(`scope.${scope}`));
  if (names.length === SCOPES.length) return <Text size="sm">{t('scope.all')}</Text>;
  if (names.length <= MAX_SHOWN) return <Text size="sm">{format.list(names)}</Text>;
  return (
    <Hint label={format.list(names)}>
      <Text size="sm" tabIndex={0} w="fit-content">
        {t('scope.more', { some: names.slice(0, MAX_SHOWN - 1).join(', '), count: names.length - MAX_SHOWN + 1 })}
      </Text>
    </Hint>
  );
}

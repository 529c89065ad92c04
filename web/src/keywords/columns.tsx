import { Stack, Text } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Column } from '../ui/table/data-table.tsx';
import { StatusBadge } from '../ui/values/status-badge.tsx';
import type { Rule } from './rule.ts';

export function useRuleColumns(): readonly Column<Rule>[] {
  const { t } = useTranslation('keywords');
  return useMemo(
    () => [
      { id: 'keyword', header: t('keyword'), phone: 'title', cell: ({ keyword }) => <Keyword keyword={keyword} /> },
      { id: 'number', header: t('number'), cell: ({ number }) => number ?? t('anyNumber') },
      { id: 'answer', header: t('answer'), cell: ({ answer }) => <Foreign text={answer} /> },
      { id: 'forwardTo', header: t('forwardTo'), cell: (rule) => <Forward rule={rule} /> },
    ],
    [t],
  );
}

function Keyword({ keyword }: Pick<Rule, 'keyword'>) {
  const { t } = useTranslation('keywords');
  return <span dir="auto">{keyword === '*' ? t('anyKeyword') : keyword}</span>;
}

function Foreign({ text }: { readonly text: string | null }) {
  return (
    <Text size="sm" className="foreign-text" dir="auto" lineClamp={2}>
      {text ?? '–'}
    </Text>
  );
}

function Forward({ rule: { forwardTo, fault } }: { readonly rule: Rule }) {
  const { t } = useTranslation('keywords');
  return (
    <Stack gap={2}>
      <Foreign text={forwardTo} />
      {fault !== null && <StatusBadge tone="warning">{t('fault', { fault })}</StatusBadge>}
    </Stack>
  );
}

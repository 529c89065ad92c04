import { ActionIcon, Group, Text } from '@mantine/core';
import { ChevronLeft, ChevronRight } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../ui/values/format.ts';

type PagesProps = {
  readonly page: number;
  readonly limit: number;
  readonly total: number;
  readonly onPage: (page: number) => void;
};

/** The pager: the range shown, and buttons to other pages. */
export function Pages({ page, limit, total, onPage }: PagesProps) {
  const { t } = useTranslation('ui');
  const { number } = useFormat();
  const last = Math.max(0, Math.ceil(total / limit) - 1);
  const range = { first: number(page * limit + 1), last: number(Math.min(total, (page + 1) * limit)) };
  return (
    <Group justify="flex-end" gap="sm">
      <Text size="sm" c="dimmed" className="tabular">
        {t('table.range', { ...range, total: number(total) })}
      </Text>
      {last > 0 && (
        <Group gap="xs">
          <ActionIcon
            variant="default"
            aria-label={t('table.previous')}
            disabled={page === 0}
            onClick={() => onPage(page - 1)}
          >
            <ChevronLeft size={16} />
          </ActionIcon>
          <ActionIcon
            variant="default"
            aria-label={t('table.next')}
            disabled={page >= last}
            onClick={() => onPage(page + 1)}
          >
            <ChevronRight size={16} />
          </ActionIcon>
        </Group>
      )}
    </Group>
  );
}

import { Button, Group, type GroupProps } from '@mantine/core';
import { ChevronLeft, ChevronRight } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { MAX_OFFSET } from './preview.ts';

type PagerProps = {
  readonly offset: number;
  readonly pageSize: number;
  /** True if there are more behind this page. The server lists no further than `MAX_OFFSET`. */
  readonly hasMore: boolean;
  readonly onChange: (offset: number) => void;
} & Pick<GroupProps, 'justify'>;

/** The buttons to the page of recipients before and behind this one. */
export function Pager({ offset, pageSize, hasMore, onChange, justify }: PagerProps) {
  const { t } = useTranslation('campaigns');
  const next = offset + pageSize;
  return (
    <Group gap="xs" justify={justify}>
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<ChevronLeft size={14} />}
        disabled={offset === 0}
        onClick={() => onChange(Math.max(0, offset - pageSize))}
      >
        {t('samples.previous')}
      </Button>
      <Button
        size="compact-sm"
        variant="default"
        rightSection={<ChevronRight size={14} />}
        disabled={!hasMore || next > MAX_OFFSET}
        onClick={() => onChange(next)}
      >
        {t('samples.next')}
      </Button>
    </Group>
  );
}

import { Skeleton, Stack, VisuallyHidden } from '@mantine/core';
import { useTranslation } from 'react-i18next';

/** A placeholder for a table that is loading. */
export function TableSkeleton({ rows = 8 }: { readonly rows?: number }) {
  const { t } = useTranslation('ui');
  return (
    <Stack gap="xs" role="status">
      <VisuallyHidden>{t('loading')}</VisuallyHidden>
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton key={row} h={36} />
      ))}
    </Stack>
  );
}

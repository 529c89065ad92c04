import { Button } from '@mantine/core';
import { Bookmark } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { OnDemand } from '../on-demand.tsx';
import { useViews } from './views.ts';

const LazyList = lazyPart(() => import('./view-list.tsx').then(({ ViewList }) => ({ default: ViewList })));

/** The menu of the saved views of a list; shown once there is a view, or a filter that could be saved as one. */
export function SavedViews({ isFiltered }: { readonly isFiltered: boolean }) {
  const { t } = useTranslation('ui');
  const { views } = useViews();
  if (!isFiltered && views.length === 0) return null;
  const button = (
    <Button variant="subtle" color="gray" size="sm" leftSection={<Bookmark size={16} />}>
      {t('views.open')}
    </Button>
  );
  return (
    <OnDemand button={button} kind="dialog">
      <LazyList button={button} isFiltered={isFiltered} />
    </OnDemand>
  );
}

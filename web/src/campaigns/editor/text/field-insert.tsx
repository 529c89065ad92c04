import { Button } from '@mantine/core';
import { Braces } from 'lucide-react';

import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../../api/connection/lazy-part.ts';
import { OnDemand } from '../../../ui/on-demand.tsx';
import type { FieldPaneProps } from './field-pane.tsx';

const LazyPane = lazyPart(() => import('./field-pane.tsx').then(({ FieldPane }) => ({ default: FieldPane })));

/** Button that inserts a contact field, with an optional default, at the caret. */
export function FieldInsert(props: Omit<FieldPaneProps, 'button'>) {
  const { t } = useTranslation('campaigns');
  const button = (
    <Button variant="default" size="xs" leftSection={<Braces size={14} />}>
      {t('text.insert')}
    </Button>
  );
  return (
    <OnDemand button={button} kind="dialog">
      <LazyPane {...props} button={button} />
    </OnDemand>
  );
}

import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { sessionQuery } from '../api/session.ts';
import { PageFrame } from '../ui/parts.tsx';
import { OwnFactors } from './factor-list.tsx';

/** Shown instead of all pages until the user has added the second factor that the account requires. */
export function EnrolPage({ onDone }: { readonly onDone: () => void }) {
  const { t } = useTranslation('security');
  const queries = useQueryClient();
  const finish = async (): Promise<void> => {
    // Until now every other request was denied.
    await queries.refetchQueries({ queryKey: sessionQuery.queryKey });
    onDone();
    await queries.invalidateQueries();
  };
  return (
    <PageFrame title={t('factors.enrolTitle')} description={t('factors.enrolText')}>
      <OwnFactors onAdded={() => void finish()} />
    </PageFrame>
  );
}

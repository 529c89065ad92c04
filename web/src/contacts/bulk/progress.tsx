import { useTranslation } from 'react-i18next';
import { JobProgress } from '../../ui/values/progress.tsx';
import type { Progress } from './bulk.ts';

/** The progress of a bulk action; nothing while none is running. */
export function BulkProgress({ progress }: { readonly progress: Progress | null }) {
  const { t } = useTranslation('contacts');
  if (progress === null) return null;
  return <JobProgress label={t(`bulk.${progress.phase}`)} done={progress.done} total={progress.total} />;
}

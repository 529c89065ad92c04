import type { ErrorComponentProps } from '@tanstack/react-router';
import { useRouter } from '@tanstack/react-router';
import { Compass } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { ErrorState } from '../ui/error-state.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { ButtonLink } from '../ui/link.tsx';
import { Page } from '../ui/page.tsx';

/** Shown when a page fails: the error, the request ID for the server's log, and a retry button. */
export function ErrorPage({ error, reset }: ErrorComponentProps) {
  const { t } = useTranslation('app');
  const router = useRouter();
  const tryAgain = (): void => {
    reset();
    void router.invalidate();
  };
  return (
    <Page title={t('broken')}>
      <ErrorState error={error} onRetry={tryAgain} />
    </Page>
  );
}

/** Shown for an unknown path. */
export function NotFoundPage() {
  const { t } = useTranslation('app');
  return (
    <Page title={t('notFound.title')}>
      <EmptyState icon={Compass} title={t('notFound.heading')} text={t('notFound.text')}>
        <ButtonLink to="/">{t('notFound.home')}</ButtonLink>
      </EmptyState>
    </Page>
  );
}

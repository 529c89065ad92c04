import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { LockKeyhole } from 'lucide-react';
import { type Need, useSession } from '../api/session.ts';
import { ButtonLink } from '../ui/link.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { Page } from '../ui/page.tsx';

/** Shows the page, or the reason why the user may not see it. */
export function PageGate({ need, children }: { readonly need: Need; readonly children: ReactNode }) {
  const { t } = useTranslation('app');
  const refusal = useSession().refusal(need);
  if (refusal === null) return children;
  return (
    <Page title={t('notAllowed.title')}>
      <EmptyState
        icon={LockKeyhole}
        title={t('notAllowed.heading')}
        text={t(`ui:why.${refusal}`, { scope: need.scope })}
      >
        <ButtonLink to="/">{t('notAllowed.home')}</ButtonLink>
      </EmptyState>
    </Page>
  );
}

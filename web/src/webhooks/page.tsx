import { useQuery } from '@tanstack/react-query';
import { Send, Webhook as WebhookIcon } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { EmptyState } from '../ui/empty-state.tsx';
import { ErrorState } from '../ui/error-state.tsx';
import { GuardedButton } from '../ui/actions/guarded-button.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { TableSkeleton } from '../ui/table/table-skeleton.tsx';
import { AddressDialog } from './address-dialog.tsx';
import { DeleteDialog } from './delete-dialog.tsx';
import { Deliveries } from './deliveries.tsx';
import { Endpoint, type WebhookAction } from './endpoint.tsx';
import { RegisterDialog } from './register-dialog.tsx';
import { RotateDialog } from './rotate-dialog.tsx';
import { TestDialog } from './test-dialog.tsx';
import { NEED, type Webhook, webhookQuery } from './webhook.ts';

/** The webhook page: the endpoint and the event log. */
export function Page() {
  const { t } = useTranslation('webhooks');
  const { data: webhook, error, refetch } = useQuery(webhookQuery);
  const [open, setOpen] = useState<WebhookAction | 'register' | null>(null);
  const close = (): void => setOpen(null);
  return (
    <Frame
      title={t('title')}
      description={t('description')}
      actions={webhook && <TestButton onClick={() => setOpen('test')} />}
    >
      {webhook === undefined && error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      {webhook === undefined && error === null && <TableSkeleton rows={4} />}
      {webhook === null && <Nothing onRegister={() => setOpen('register')} />}
      {webhook && <Endpoint webhook={webhook} onAction={setOpen} />}
      {webhook !== undefined && <Deliveries isRegistered={webhook !== null} />}
      <RegisterDialog opened={open === 'register'} onClose={close} />
      {webhook && <Dialogs webhook={webhook} open={open} onClose={close} />}
    </Frame>
  );
}

type DialogsProps = { readonly webhook: Webhook; readonly open: string | null; readonly onClose: () => void };

function Dialogs({ webhook, open, onClose }: DialogsProps) {
  return (
    <>
      <TestDialog webhook={webhook} opened={open === 'test'} onClose={onClose} />
      <AddressDialog webhook={webhook} opened={open === 'address'} onClose={onClose} />
      <RotateDialog opened={open === 'rotate'} onClose={onClose} />
      <DeleteDialog webhook={webhook} opened={open === 'delete'} onClose={onClose} />
    </>
  );
}

function TestButton({ onClick }: { readonly onClick: () => void }) {
  const { t } = useTranslation('webhooks');
  return (
    <GuardedButton need={NEED} leftSection={<Send size={16} />} onClick={onClick}>
      {t('test.open')}
    </GuardedButton>
  );
}

function Nothing({ onRegister }: { readonly onRegister: () => void }) {
  const { t } = useTranslation('webhooks');
  return (
    <EmptyState icon={WebhookIcon} title={t('empty.title')} text={t('empty.text')} help="api#webhooks">
      <GuardedButton need={NEED} onClick={onRegister}>
        {t('register.open')}
      </GuardedButton>
    </EmptyState>
  );
}

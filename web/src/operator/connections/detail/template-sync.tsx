import { Alert } from '@mantine/core';
import { RefreshCw } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../../api/action.ts';
import { api, ok } from '../../../api/client.ts';
import { GuardedButton } from '../../../ui/actions/guarded-button.tsx';
import { Section } from '../../../ui/section.tsx';
import { OPERATOR } from '../../shared/need.ts';
import { CONNECTIONS } from '../connection.ts';

/** Button that synchronises WhatsApp templates and numbers now, rather than at the next ten-minute interval. */
export function TemplateSync({ name }: { readonly name: string }) {
  const { t } = useTranslation('operator');
  const sync = useAction({
    run: () => ok(api.POST(`${CONNECTIONS}/{name}/templates/sync`, { params: { path: { name } } })),
    refresh: [
      ['operator', 'senders'],
      ['operator', 'connections'],
    ],
  });
  return (
    <Section
      title={t('sync.title')}
      description={t('sync.hint')}
      actions={
        <GuardedButton
          need={OPERATOR}
          variant="default"
          leftSection={<RefreshCw size={16} />}
          loading={sync.busy}
          onClick={() => sync.run()}
        >
          {t('sync.open')}
        </GuardedButton>
      }
    >
      {sync.result && (
        <Alert color={sync.result.ok ? 'green' : 'red'} role="status">
          {sync.result.ok ? t('sync.done', { count: sync.result.templates ?? 0 }) : sync.result.detail}
        </Alert>
      )}
    </Section>
  );
}

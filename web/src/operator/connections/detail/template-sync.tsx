import { Alert } from '@mantine/core';
import { RefreshCw } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../../api/action.ts';
import { api, ok } from '../../../api/client.ts';
import { MayButton } from '../../../ui/actions/may-button.tsx';
import { Section } from '../../../ui/section.tsx';
import { OPERATOR } from '../../shared/need.ts';
import { CONNECTIONS } from '../connection.ts';

/** Asks WhatsApp at once which templates and numbers there are, rather than at the next turn of ten minutes. */
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
        <MayButton
          need={OPERATOR}
          variant="default"
          leftSection={<RefreshCw size={16} />}
          loading={sync.busy}
          onClick={() => sync.run()}
        >
          {t('sync.open')}
        </MayButton>
      }
    >
      {sync.made && (
        <Alert color={sync.made.ok ? 'green' : 'red'} role="status">
          {sync.made.ok ? t('sync.done', { count: sync.made.templates ?? 0 }) : sync.made.detail}
        </Alert>
      )}
    </Section>
  );
}

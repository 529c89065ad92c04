import { RotateCw } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { GuardedButton, GuardedIcon } from '../ui/actions/guarded-button.tsx';
import type { Delivery } from './delivery.ts';
import { useEventName } from './delivery-columns.tsx';
import { FORM_A, NEED } from './webhook.ts';

type ReplayButtonProps = {
  readonly delivery: Pick<Delivery, 'id' | 'eventType' | 'statusCode'>;
  readonly isRegistered: boolean;
  /** True to show a button with text (in the panel), false for only an icon (in a row). */
  readonly isWide?: boolean;
};

/** Button that resends one event. */
export function ReplayButton({ delivery, isRegistered, isWide = false }: ReplayButtonProps) {
  const { t } = useTranslation('webhooks');
  const eventName = useEventName();
  const { id } = delivery;
  const replay = useAction({
    run: () => ok(api.POST(`${FORM_A}/deliveries/{id}/replay`, { params: { path: { id } } })),
    refresh: [
      ['webhooks', 'deliveries'],
      ['webhooks', 'delivery', id],
    ],
    done: t('replay.one.done'),
  });
  const may = { need: NEED, reason: !isRegistered && t('replay.none'), loading: replay.busy } as const;
  if (isWide) {
    return (
      <GuardedButton {...may} variant="default" leftSection={<RotateCw size={16} />} onClick={() => replay.run()}>
        {t('replay.one.open')}
      </GuardedButton>
    );
  }
  return (
    <GuardedIcon {...may} label={t('replay.one.label', { event: eventName(delivery) })} onClick={() => replay.run()}>
      <RotateCw size={16} />
    </GuardedIcon>
  );
}

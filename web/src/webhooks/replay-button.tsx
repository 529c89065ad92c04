import { RotateCw } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { MayButton, MayIcon } from '../ui/actions/may-button.tsx';
import type { Delivery } from './delivery.ts';
import { useEventName } from './delivery-columns.tsx';
import { FORM_A, NEED } from './webhook.ts';

type ReplayButtonProps = {
  readonly delivery: Pick<Delivery, 'id' | 'eventType' | 'statusCode'>;
  readonly isRegistered: boolean;
  /** With its words, in the panel; a sign alone in a row. */
  readonly isWide?: boolean;
};

/** Sends one event again, now. */
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
  const may = { need: NEED, because: !isRegistered && t('replay.none'), loading: replay.busy } as const;
  if (isWide) {
    return (
      <MayButton {...may} variant="default" leftSection={<RotateCw size={16} />} onClick={() => replay.run()}>
        {t('replay.one.open')}
      </MayButton>
    );
  }
  return (
    <MayIcon {...may} label={t('replay.one.label', { event: eventName(delivery) })} onClick={() => replay.run()}>
      <RotateCw size={16} />
    </MayIcon>
  );
}

import { Radio, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { DialogForm } from '../../ui/dialog/dialog-form.tsx';
import { settle, UNKNOWN_KEYS, type Verdict, VERDICTS } from './unknown.ts';

type SettleProps = {
  /** The messages to resolve; the dialog is closed if there are none. */
  readonly messageIds: readonly string[];
  readonly onClose: () => void;
  readonly onDone: () => void;
};

/** Dialog that sets the outcome of messages, as reported by their carrier. */
export function SettleDialog({ messageIds, onClose, onDone }: SettleProps) {
  const { t } = useTranslation('operator');
  const opened = messageIds.length > 0;
  return (
    <Dialog opened={opened} onClose={onClose} title={t('unknown.settle.title', { count: messageIds.length })}>
      {opened && <Settle messageIds={messageIds} onClose={onClose} onDone={onDone} />}
    </Dialog>
  );
}

function Settle({ messageIds, onClose, onDone }: SettleProps) {
  const { t } = useTranslation('operator');
  const [verdict, setVerdict] = useState<Verdict | ''>('');
  const settling = useAction({
    run: (as: Verdict) => settle([...messageIds], as),
    refresh: UNKNOWN_KEYS,
    done: ({ settled, results }) =>
      t(settled === results.length ? 'unknown.settle.done' : 'unknown.settle.some', {
        count: settled,
        all: results.length,
      }),
    onDone() {
      onDone();
      onClose();
    },
  });
  return (
    <DialogForm
      onSubmit={() => verdict !== '' && settling.run(verdict)}
      action={t(verdict === 'not-sent' ? 'unknown.settle.sendAgain' : 'unknown.settle.submit')}
      busy={settling.busy}
      disabled={verdict === ''}
      kind={verdict === 'not-sent' ? 'danger' : 'normal'}
      onClose={onClose}
    >
      <Text size="sm">{t('unknown.settle.text')}</Text>
      <Radio.Group
        value={verdict}
        onChange={(next) => setVerdict(VERDICTS.find((each) => each === next) ?? '')}
        label={t('unknown.settle.question')}
      >
        <Stack gap="sm" mt="xs">
          {VERDICTS.map((each) => (
            <Radio
              key={each}
              value={each}
              label={t(`unknown.verdict.${each}`)}
              description={t(`unknown.consequence.${each}`)}
            />
          ))}
        </Stack>
      </Radio.Group>
    </DialogForm>
  );
}

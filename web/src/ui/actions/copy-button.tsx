import { ActionIcon } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { Check, Copy } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Hint } from '../hint.tsx';

/** Button that copies a text; `label` is its accessible name: "Copy callback URL". */
export function CopyButton({ text, label }: { readonly text: string; readonly label?: string }) {
  const { t } = useTranslation('ui');
  const { copied, copy } = useClipboard({ timeout: 2000 });
  const name = copied ? t('copied') : (label ?? t('copy'));
  return (
    <Hint label={name}>
      <ActionIcon variant="subtle" color={copied ? 'green' : 'gray'} onClick={() => copy(text)} aria-label={name}>
        {copied ? <Check size={16} /> : <Copy size={16} />}
      </ActionIcon>
    </Hint>
  );
}

import { Badge, Group, Text } from '@mantine/core';
import { Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/values/format.ts';
import { GuardedIcon } from '../../ui/actions/guarded-button.tsx';
import { includesAddress, addressCountOf } from './block.ts';
import classes from './blocks.module.css';
import { NEED } from './security-settings.ts';

type BlocksProps = {
  readonly ipAllowList: readonly string[];
  readonly callerAddress: string;
  readonly onRemove: (block: string) => void;
};

/** The ranges in canonical form, each with its size. */
export function Blocks({ ipAllowList, callerAddress, onRemove }: BlocksProps) {
  const { t } = useTranslation('security');
  return (
    <ul className={classes.blocks} aria-label={t('addresses.listTitle')}>
      {ipAllowList.map((block) => (
        <li key={block} className={classes.block}>
          <Group gap="sm">
            <Text size="sm" fw={600} className="tabular" dir="ltr">
              {block}
            </Text>
            <Size block={block} />
            {includesAddress(block, callerAddress) && <Badge color="green">{t('addresses.holdsYou')}</Badge>}
          </Group>
          <GuardedIcon need={NEED} label={t('addresses.removeOne', { block })} onClick={() => onRemove(block)}>
            <Trash2 size={16} />
          </GuardedIcon>
        </li>
      ))}
    </ul>
  );
}

function Size({ block }: { readonly block: string }) {
  const { t } = useTranslation('security');
  const format = useFormat();
  const count = addressCountOf(block);
  return (
    <Text size="sm" c="dimmed">
      {count === null ? t('addresses.network') : t('addresses.size', { count, shown: format.number(count) })}
    </Text>
  );
}

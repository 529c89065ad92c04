import { Badge, Group, Text } from '@mantine/core';
import { Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/values/format.ts';
import { MayIcon } from '../../ui/actions/may-button.tsx';
import { holds, sizeOf } from './block.ts';
import classes from './blocks.module.css';
import { NEED } from './security-settings.ts';

type BlocksProps = {
  readonly ipAllowList: readonly string[];
  readonly callerAddress: string;
  readonly onRemove: (block: string) => void;
};

/** The ranges as the server keeps them, each with how much it lets in. */
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
            {holds(block, callerAddress) && <Badge color="green">{t('addresses.holdsYou')}</Badge>}
          </Group>
          <MayIcon need={NEED} label={t('addresses.removeOne', { block })} onClick={() => onRemove(block)}>
            <Trash2 size={16} />
          </MayIcon>
        </li>
      ))}
    </ul>
  );
}

function Size({ block }: { readonly block: string }) {
  const { t } = useTranslation('security');
  const format = useFormat();
  const count = sizeOf(block);
  return (
    <Text size="sm" c="dimmed">
      {count === null ? t('addresses.network') : t('addresses.size', { count, shown: format.number(count) })}
    </Text>
  );
}

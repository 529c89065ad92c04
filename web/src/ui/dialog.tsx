import { Drawer, Modal } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';

/** Below it lists are cards, dialogs are full screens and panes come one at a time. */
const PHONE = '(max-width: 48em)';

export const useIsPhone = (): boolean => useMediaQuery(PHONE, undefined, { getInitialValueInEffect: false }) ?? false;

type DialogProps = {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly size?: string;
  readonly children: ReactNode;
};

/** A dialog in the middle; the whole screen on a phone. The focus comes back to where it was. */
export function Dialog({ opened, onClose, title, size = 'lg', children }: DialogProps) {
  const { t } = useTranslation('ui');
  const isPhone = useIsPhone();
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={title}
      size={size}
      fullScreen={isPhone}
      closeButtonProps={{ 'aria-label': t('close') }}
      styles={{ title: { fontWeight: 650, overflowWrap: 'anywhere' } }}
    >
      {children}
    </Modal>
  );
}

/** A pane from the right with the details of one thing; the list behind keeps its place. */
export function SidePanel({ opened, onClose, title, size = 'lg', children }: DialogProps) {
  const { t } = useTranslation('ui');
  return (
    <Drawer
      opened={opened}
      onClose={onClose}
      title={title}
      size={size}
      position="right"
      closeButtonProps={{ 'aria-label': t('close') }}
      styles={{ title: { fontWeight: 650, overflowWrap: 'anywhere' } }}
    >
      {children}
    </Drawer>
  );
}

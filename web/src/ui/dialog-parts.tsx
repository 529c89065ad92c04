import { Drawer, Modal } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { DialogProps } from './dialog-props.ts';
import { useIsPhone } from './parts.tsx';

const STYLES = {
  header: { background: 'var(--panel)' },
  title: { fontWeight: 650, lineHeight: 1.35, overflowWrap: 'anywhere' },
} as const;

/** Above Mantine's modals (200) and below its pop-ups (300), which dialogs contain. */
const ON_TOP = 250;

/** The modal of `Dialog`, loaded on demand. */
export function CenterDialog({ size = 'lg', locked = false, onTop = false, ...props }: DialogProps) {
  const { t } = useTranslation('ui');
  const isPhone = useIsPhone();
  return (
    <Modal
      {...props}
      {...(onTop && { zIndex: ON_TOP })}
      size={size}
      fullScreen={isPhone}
      closeOnClickOutside={!locked}
      closeOnEscape={!locked}
      withCloseButton={!locked}
      closeButtonProps={{ 'aria-label': t('close') }}
      styles={STYLES}
    />
  );
}

/** The drawer of `SidePanel`, loaded on demand. */
export function SideDialog({ size = 'lg', locked = false, onTop = false, ...props }: DialogProps) {
  const { t } = useTranslation('ui');
  return (
    <Drawer
      {...props}
      {...(onTop && { zIndex: ON_TOP })}
      size={size}
      position="right"
      closeOnClickOutside={!locked}
      closeOnEscape={!locked}
      withCloseButton={!locked}
      closeButtonProps={{ 'aria-label': t('close') }}
      styles={STYLES}
    />
  );
}

import { useMediaQuery } from '@mantine/hooks';

const PHONE = '(max-width: 48em)';

/**
 * Returns true if the window is narrow: lists are then cards, dialogs are full-screen, and panes are shown one at a
 * time.
 */
export const useIsPhone = (): boolean => useMediaQuery(PHONE, undefined, { getInitialValueInEffect: false }) ?? false;

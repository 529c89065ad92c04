import { useMediaQuery } from '@mantine/hooks';

const PHONE = '(max-width: 48em)';

/** Narrow windows: lists are cards, dialogs are full screens, panes come one at a time. */
export const useIsPhone = (): boolean => useMediaQuery(PHONE, undefined, { getInitialValueInEffect: false }) ?? false;

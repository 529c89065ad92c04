import { Tooltip } from '@mantine/core';
import type { RefObject } from 'react';

type FaultNoteProps = { readonly label: string; readonly target: RefObject<HTMLElement | null> };

/** What is wrong with a value, under its cell; it goes along when the table scrolls. `EditCell` loads it when needed. */
export const FaultNote = (props: FaultNoteProps) => <Tooltip {...props} opened color="red" position="bottom-start" />;
